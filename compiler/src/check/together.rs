//! What several workloads ask for at the same time, in words.

use crate::diag::{Code, Draft, Report, words};
use crate::model::{Cluster, Team};
use crate::placement::{Crowded, Load, Spent, What, spent};

/// What every workload of the file keeps busy.
pub(crate) fn loads(cluster: &Cluster) -> Vec<Load<'_>> {
    let workloads = cluster.written.workloads.iter();
    workloads.filter_map(|it| Load::of(cluster, it)).collect()
}

/// More than a team may have.
pub(crate) struct Sum<'c> {
    team: &'c Team,
    spent: Spent,
    /// Who asks for it, in words.
    who: String,
    help: &'static str,
}

impl<'c> Sum<'c> {
    /// What services ask for that their team may not have.
    pub(crate) fn of_services(cluster: &'c Cluster, loads: &[Load<'_>]) -> Vec<Self> {
        let mut sums = Vec::new();
        for team in &cluster.teams {
            let services = of_team(team, loads, |load| load.lasts);
            sums.extend(
                over(cluster, team, loads, &services)
                    .into_iter()
                    .map(|spent| Sum {
                        team,
                        who: format!("the services of team `{}`", team.name),
                        help: match spent.what {
                            What::Storage => "ask for less, or raise what the team may have",
                            _ => "run fewer pods, or raise what the team may have",
                        },
                        spent,
                    }),
            );
        }
        sums
    }

    /// What one workload asks for that its team may not have.
    pub(crate) fn of_one(cluster: &'c Cluster, loads: &[Load<'_>], index: usize) -> Vec<Self> {
        let load = &loads[index];
        let Some(team) = load.team.and_then(|name| cluster.team(name)) else {
            return Vec::new();
        };
        let found = spent(cluster, team, &[&loads[index]]).into_iter();
        let sum = |spent: Spent| Sum {
            team,
            spent: Spent {
                loads: vec![index],
                ..spent
            },
            who: load.title.clone(),
            help: "ask for less, or raise what the team may have",
        };
        found.map(sum).collect()
    }

    /// What services and jobs ask for that their team may not have, where its services alone fit.
    pub(crate) fn of_everything(cluster: &'c Cluster, loads: &[Load<'_>]) -> Vec<Self> {
        let mut sums = Vec::new();
        for team in &cluster.teams {
            let services = of_team(team, loads, |load| load.lasts);
            let jobs = of_team(team, loads, |load| !load.lasts);
            let known = over(cluster, team, loads, &services);
            let is_new = |spent: &Spent| {
                let is_same =
                    |it: &Spent| it.what == spent.what && is_within(&it.places, &spent.places);
                !known.iter().any(is_same)
            };
            if !cluster.has_queues() {
                let all = of_team(team, loads, |_| true);
                let found = over(cluster, team, loads, &all).into_iter();
                sums.extend(found.filter(is_new).map(|spent| Sum {
                    team,
                    spent,
                    who: format!("the workloads of team `{}`", team.name),
                    help: "ask for less, raise what the team may have, or write `queueing: kueue`, so that jobs wait \
                           for each other",
                }));
                continue;
            }
            // Claims wait in no queue, and are there when a job is over.
            let all = over(cluster, team, loads, &of_team(team, loads, |_| true)).into_iter();
            let claims = all.filter(|it| it.what == What::Storage && is_new(it));
            sums.extend(claims.map(|spent| Sum {
                team,
                spent,
                who: format!("the workloads of team `{}`", team.name),
                help: "ask for less, or raise what the team may have",
            }));
            for job in jobs {
                let beside: Vec<_> = services.iter().copied().chain([job]).collect();
                let found = over(cluster, team, loads, &beside).into_iter();
                let found = found.filter(|it| it.what != What::Storage);
                sums.extend(found.filter(is_new).map(|spent| Sum {
                    team,
                    spent,
                    who: format!(
                        "the services of team `{}` and {}",
                        team.name, loads[job].title
                    ),
                    help: "ask for less, or raise what the team may have: the services leave the job no room",
                }));
            }
        }
        sums
    }

    /// Who asks for it, by index.
    pub(crate) fn loads(&self) -> &[usize] {
        &self.spent.loads
    }

    /// The finding.
    pub(crate) fn draft<'r>(
        &self,
        code: &'static Code,
        loads: &[Load<'_>],
        report: &'r mut Report,
    ) -> Draft<'r> {
        let Spent {
            what, asked, has, ..
        } = &self.spent;
        let has = match what {
            What::Device(_) => has.to_string(),
            what => what.words(*has),
        };
        let who = &self.who;
        let needs = if self.spent.loads.len() == 1 {
            "needs"
        } else {
            "need"
        };
        let message = format!(
            "{who} {needs} {} at once, and the team may have {has}",
            what.words(*asked)
        );
        let mut draft = draft_of(what, &self.spent.loads, &message, code, loads, report);
        for place in self.spent.places.iter().filter(|it| it.is_written()) {
            draft = draft.label(*place, "what the team may have");
        }
        if self.spent.places.iter().all(|it| !it.is_written()) {
            draft = draft.label(self.team.name.span, "the team");
        }
        draft.help(self.help)
    }
}

/// The workloads of a team, by index.
fn of_team(team: &Team, loads: &[Load<'_>], is_meant: impl Fn(&Load<'_>) -> bool) -> Vec<usize> {
    let loads = loads.iter().enumerate();
    let own = loads.filter(|(_, load)| load.team == Some(team.name.as_str()));
    own.filter(|(_, load)| is_meant(load))
        .map(|(index, _)| index)
        .collect()
}

/// What some of the workloads ask for that a team may not have, with their indexes among all.
fn over(cluster: &Cluster, team: &Team, loads: &[Load<'_>], some: &[usize]) -> Vec<Spent> {
    // What one alone asks for is another finding.
    if some.len() < 2 {
        return Vec::new();
    }
    let meant: Vec<_> = some.iter().map(|index| &loads[*index]).collect();
    let mut found = spent(cluster, team, &meant);
    for spent in &mut found {
        spent.loads = spent.loads.iter().map(|index| some[*index]).collect();
    }
    found
}

fn is_within<T: PartialEq>(few: &[T], many: &[T]) -> bool {
    few.iter().all(|it| many.contains(it))
}

/// The finding that pools have too little.
pub(crate) fn draft<'r>(
    crowd: &Crowded<'_>,
    code: &'static Code,
    loads: &[Load<'_>],
    report: &'r mut Report,
) -> Draft<'r> {
    let names: Vec<_> = crowd.pools.iter().map(|pool| pool.name.as_str()).collect();
    let (pools, has, their) = match &names[..] {
        [only] => (format!("pool `{only}`"), "it has", "its"),
        several => (
            format!("pools {}", words::all(several, "and")),
            "they have",
            "their",
        ),
    };
    let nodes = crowd.pools.iter().filter_map(|pool| pool.nodes.get());
    let most: u64 = nodes.clone().map(|nodes| u64::from(nodes.max)).sum();
    let what = &crowd.what;
    let (asked, most) = if crowd.by_nodes {
        let name = match what {
            What::Device(name) => format!("`{name}`"),
            What::Memory => "memory".to_owned(),
            _ => "CPU".to_owned(),
        };
        let asked = words::counted(crowd.asked, "node");
        (
            format!("{asked} at once for their {name}"),
            format!("{} at most", crowd.has),
        )
    } else {
        let has = match what {
            What::Device(_) => crowd.has.to_string(),
            what => what.words(crowd.has),
        };
        let on = format!("{has} on {their} {} at most", words::counted(most, "node"));
        (format!("{} at once", what.words(crowd.asked)), on)
    };
    let message = match crowd.loads.as_slice() {
        [only] if !loads[*only].lasts => {
            let title = &loads[*only].title;
            format!("{title} needs {asked}, on {pools}, and {has} {most}")
        }
        _ => format!("the services on {pools} need {asked}, and {has} {most}"),
    };
    let mut draft = draft_of(what, &crowd.loads, &message, code, loads, report);
    for pool in &crowd.pools {
        let nodes = pool.nodes.get().filter(|nodes| nodes.max_span.is_written());
        let (span, nodes) = match nodes {
            Some(nodes) => (nodes.max_span, words::counted(nodes.max, "node")),
            None => (pool.name.span, "its nodes".to_owned()),
        };
        draft = draft.label(span, format!("pool `{}` has at most {nodes}", pool.name));
    }
    draft.help("give the pool more nodes, run fewer pods, or let some run on another pool")
}

/// The last that asks is where it is said, and the others are labelled.
fn draft_of<'r>(
    what: &What,
    asking: &[usize],
    message: &str,
    code: &'static Code,
    loads: &[Load<'_>],
    report: &'r mut Report,
) -> Draft<'r> {
    let asks = || asking.iter().map(|index| &loads[*index]);
    let last = asks().rfind(|load| load.patched).or(asks().next_back());
    let span = last.map_or(gpuc_schema::Span::NONE, |load| load.span);
    let mut draft = report.draft(code, span, message);
    for index in asking {
        let load = &loads[*index];
        let asks = load.asks(what);
        let words = match what {
            What::Pods | What::Storage => format!("needs {}", what.words(asks)),
            what => {
                let pods = load.groups.iter().map(|group| group.pods);
                let pods = pods.fold(0, u64::saturating_add);
                let (asks, pods) = (what.words(asks), words::counted(pods, "pod"));
                let given = load.is_given(what);
                let more = if given {
                    ", as pods are given that say nothing"
                } else {
                    ""
                };
                format!("needs {asks} for {pods}{more}")
            }
        };
        draft = draft.label(load.span, words);
    }
    draft
}
