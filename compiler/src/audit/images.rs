//! What is pulled: that digests hold something, and that no value of a user's makes an image float.

use std::collections::BTreeSet;

use super::codes::DIGEST_UNUSED;
use crate::check::Checked;
use crate::check::floating_tags::{self, floats};
use crate::check::syntax::image;
use crate::diag::{Report, words};
use crate::lower::images::{images, own_images};
use crate::plan::{Plan, Release};

/// Looks at every image of a plan.
pub(super) fn look(plan: &Plan, cluster: &Checked<'_>, report: &mut Report) {
    let of_objects = plan.objects.iter().flat_map(images);
    let of_releases = plan.releases.iter().flat_map(Release::images);
    let all: BTreeSet<String> = of_objects.chain(of_releases).collect();
    let own = own_images(&cluster.written);
    for (name, digest) in &cluster.written.digests {
        let end = format!("@{digest}");
        if all.iter().any(|image| image.ends_with(&end)) {
            continue;
        }
        if own.contains(&name.value.as_str()) {
            let message = format!("the file itself names the image `{name}`");
            let draft = report.draft(&DIGEST_UNUSED, name.span, message);
            let help = format!("write `{name}@{digest}` where it does, and remove this");
            draft.help(help).emit();
            continue;
        }
        let message = format!("nothing here runs the image `{name}`");
        let draft = report.draft(&DIGEST_UNUSED, name.span, message);
        match words::nearest(name, all.iter().map(String::as_str)) {
            Some(near) => draft.help(format!("did you mean `{near}`?")).emit(),
            None => draft.help("remove it").emit(),
        };
    }
    for release in &plan.releases {
        let Some(settings) = cluster.written.charts.get(release.chart.name) else {
            continue;
        };
        // What the file itself names was looked at where it stands.
        let images = release.images().into_iter();
        for reference in images.filter(|it| !own.contains(&it.as_str())) {
            let what = image(&reference).ok().and_then(|image| floats(&image));
            if let Some(what) = what {
                let message = format!("`{reference}` {what}");
                let draft = report.draft(&floating_tags::RULE.code, settings.span, message);
                draft.help("write a version as its tag").emit();
            }
        }
    }
}
