//! The command lines of programs that start one process for each GPU.

/// A number on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessCount {
    /// The index of the word with the number.
    pub word: usize,
    /// The number.
    pub count: u64,
    /// The option that sets it.
    pub option: &'static str,
}

/// The options for the number of processes on a node, and for the rank of a node.
///
/// Source: <https://docs.pytorch.org/docs/stable/elastic/run.html> (read 2026-11-28, from memory).
const PROCESSES: &[&str] = &["--nproc-per-node", "--nproc_per_node"];
const NODES: &[&str] = &["--nnodes"];
const RANK: &[&str] = &["--node-rank", "--node_rank"];

/// Options with which nodes get their ranks from a rendezvous.
const RENDEZVOUS: &[&str] = &["--rdzv", "--standalone"];

/// The options for the number of GPUs on which vLLM splits a model, and those with which it runs on several nodes.
///
/// Source: <https://docs.vllm.ai/en/stable/serving/parallelism_scaling/> (read 2026-11-28, from memory).
const TENSOR_PARALLEL: &[&str] = &["--tensor-parallel-size", "-tp"];
const SEVERAL_NODES: &[&str] = &[
    "--data-parallel-size",
    "--distributed-executor-backend",
    "--headless",
    "--nnodes",
    "--pipeline-parallel-size",
    "-pp",
];

/// Programs whose argument is a script, and the option before it.
const SHELLS: &[&str] = &["-c", "ash", "bash", "dash", "sh", "zsh"];

/// Programs before the launcher.
const PREFIXES: &[&str] = &["env", "exec", "nohup", "time"];

/// The number of processes that the words of a `command` with its `args` start, each of which needs a GPU. A word can
/// be a script.
pub fn process_count(words: &[&str], image: &str) -> Option<ProcessCount> {
    // Ray starts vLLM on several nodes.
    let uses_ray = words.iter().any(|word| word.contains("ray start"));
    let in_vllm = |words: &[&str]| vllm_processes(words, image).filter(|_| !uses_ray);
    find_in_words(words, |words| {
        torch_processes(words).or_else(|| in_vllm(words))
    })
}

/// The index of the word that sets the rank of a node to a number, if the command line is for several nodes.
pub fn fixed_node_rank(words: &[&str]) -> Option<usize> {
    let in_command = |words: &[&str]| {
        let first = launcher(words)?;
        // With a rendezvous, the launcher ignores the option.
        if words
            .iter()
            .any(|word| RENDEZVOUS.iter().any(|option| word.starts_with(option)))
        {
            return None;
        }
        let rank = find_option(&words[first..], RANK)?;
        let nodes = find_option(&words[first..], NODES).map(|it| it.count);
        // Without the number of nodes, the launcher starts one.
        nodes
            .is_some_and(|nodes| nodes > 1)
            .then_some(ProcessCount {
                word: first + rank.word,
                ..rank
            })
    };
    find_in_words(words, in_command).map(|it| it.word)
}

/// Searches the words as one command, then each command of each word, which can be a script.
fn find_in_words(
    words: &[&str],
    find: impl Fn(&[&str]) -> Option<ProcessCount>,
) -> Option<ProcessCount> {
    if let Some(found) = find(words) {
        return Some(found);
    }
    let program = words.first()?.rsplit('/').next()?;
    if !SHELLS.contains(&program) && words.len() > 1 {
        return None;
    }
    words.iter().enumerate().find_map(|(word, script)| {
        let script = script.replace("\\\n", " ");
        let mut commands = script.split(['\n', ';', '&', '|']);
        let found = commands.find_map(|command| {
            let words: Vec<_> = command.split_whitespace().collect();
            find(&words)
        });
        found.map(|found| ProcessCount { word, ..found })
    })
}

/// The index of the first option of `torchrun`.
fn launcher(words: &[&str]) -> Option<usize> {
    let first = first_program(words);
    let program = words.get(first)?.rsplit('/').next()?;
    let starts_module = || {
        let arguments = words[first + 1..].windows(2);
        let mut modules = arguments.filter(|pair| pair[0] == "-m").map(|pair| pair[1]);
        modules.any(|module| module.starts_with("torch.distributed."))
    };
    let is_launcher = program == "torchrun" || program.starts_with("python") && starts_module();
    is_launcher.then_some(first + 1)
}

/// The index of the program, after settings of variables and programs such as `env`.
fn first_program(words: &[&str]) -> usize {
    let is_setting =
        |word: &&&str| word.contains('=') && !word.starts_with('-') || PREFIXES.contains(word);
    words.iter().take_while(is_setting).count()
}

fn torch_processes(words: &[&str]) -> Option<ProcessCount> {
    let first = launcher(words)?;
    // Gloo needs no GPUs.
    if words.iter().any(|word| word.contains("gloo")) {
        return None;
    }
    let found = find_option(&words[first..], PROCESSES)?;
    Some(ProcessCount {
        word: first + found.word,
        ..found
    })
}

fn vllm_processes(words: &[&str], image: &str) -> Option<ProcessCount> {
    let first = first_program(words);
    let program = words.get(first)?.rsplit('/').next()?;
    let mut modules = words
        .windows(2)
        .filter(|pair| pair[0] == "-m")
        .map(|pair| pair[1]);
    let is_server = program == "vllm"
        || program.starts_with("python") && modules.any(|module| module.starts_with("vllm.entrypoints"))
        // The image starts the server: the words are its arguments.
        || program.starts_with("--") && image.contains("vllm/vllm-openai");
    let is_single_node = !words.iter().any(|word| {
        let option = word.split('=').next().unwrap_or_default();
        SEVERAL_NODES.contains(&option)
    });
    (is_server && is_single_node)
        .then(|| find_option(words, TENSOR_PARALLEL))
        .flatten()
}

/// The first of the options with a number.
fn find_option(words: &[&str], options: &[&'static str]) -> Option<ProcessCount> {
    (0..words.len()).find_map(|index| {
        let word = words[index];
        let (written, value, word) = match word.split_once('=') {
            Some((option, value)) => (option, value, index),
            None => (word, words.get(index + 1).copied()?, index + 1),
        };
        let option = options.iter().find(|option| **option == written)?;
        let count = value.trim_matches(['"', '\'']).parse().ok()?;
        Some(ProcessCount {
            word,
            count,
            option,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(words: &[&str]) -> Option<(usize, u64)> {
        process_count(words, "vllm/vllm-openai:v0.11.0").map(|it| (it.word, it.count))
    }

    #[test]
    fn processes_are_counted() {
        for (words, expected) in [
            (
                &["torchrun", "--nproc-per-node=8", "a.py"][..],
                Some((1, 8)),
            ),
            (&["torchrun", "--nproc_per_node", "4", "a.py"], Some((2, 4))),
            (
                &[
                    "python3",
                    "-m",
                    "torch.distributed.launch",
                    "--nproc_per_node=2",
                ],
                Some((3, 2)),
            ),
            (
                &[
                    "bash",
                    "-c",
                    "set -e\ntorchrun \\\n  --nproc-per-node=8 a.py",
                ],
                Some((2, 8)),
            ),
            (
                &["vllm", "serve", "m", "--tensor-parallel-size", "8"],
                Some((4, 8)),
            ),
            (&["--model", "m", "-tp", "2"], Some((3, 2))),
            (&["--model=m", "-tp=2"], Some((1, 2))),
            (
                &[
                    "python3",
                    "-m",
                    "vllm.entrypoints.openai.api_server",
                    "-tp=4",
                ],
                Some((3, 4)),
            ),
            (&["vllm", "serve", "m", "-tp", "8", "-pp", "2"], None),
            (&["torchrun", "--nproc-per-node=gpu"], None),
            (&["torchrun", "--nproc-per-node=8", "--backend=gloo"], None),
            (&["echo", "torchrun --nproc-per-node=8"], None),
            (&["-c", "torchrun --nproc-per-node=8"], Some((1, 8))),
            (&["sh", "-c", "echo torchrun --nproc-per-node=8"], None),
            (&[], None),
        ] {
            assert_eq!(count(words), expected, "{words:?}");
        }
    }

    #[test]
    fn ranks_of_several_nodes_are_fixed() {
        for (words, expected) in [
            (
                &["torchrun", "--nnodes=2", "--node_rank=0", "a.py"][..],
                Some(2),
            ),
            (&["torchrun", "--node-rank", "1", "a.py"], None),
            (
                &["torchrun", "--nnodes", "2", "--node-rank", "1", "a.py"],
                Some(4),
            ),
            (&["torchrun", "--nnodes=1", "--node_rank=0"], None),
            (&["torchrun", "--nnodes=2", "--node_rank=$RANK"], None),
            (&["train", "--node_rank=0"], None),
        ] {
            assert_eq!(fixed_node_rank(words), expected, "{words:?}");
        }
    }
}
