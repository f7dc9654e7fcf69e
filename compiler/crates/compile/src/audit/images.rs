//! Checks images: digests must be used, and no user value may result in a floating tag.

use std::collections::BTreeSet;

use gpuc_kubernetes::names::{floating_tag_problem, parse_image};
use gpuc_model::check::Checked;
use gpuc_model::plan::Plan;
use gpuc_syntax::diag::{Report, phrases};

use super::codes::DIGEST_UNUSED;
use crate::charts::images::release_images;
use crate::lower::images::{image_references, user_images};

/// Checks every image of a plan.
pub(super) fn check(plan: &Plan, cluster: &Checked<'_>, report: &mut Report) {
    let of_objects = plan.objects.iter().flat_map(image_references);
    let of_releases = plan.releases.iter().flat_map(release_images);
    let all: BTreeSet<String> = of_objects.chain(of_releases).collect();
    let user_references = user_images(cluster);
    for (name, digest) in &cluster.config.digests {
        let end = format!("@{digest}");
        if all.iter().any(|image| image.ends_with(&end)) {
            continue;
        }
        if user_references.contains(&name.value.as_str()) {
            let message = format!("image `{name}` is set in the file itself");
            let builder = report.diagnostic(&DIGEST_UNUSED, name.span, message);
            let help = format!("write `{name}@{digest}` there, and remove this line");
            builder.help(help).emit();
            continue;
        }
        let message = format!("image `{name}` is not used");
        let builder = report.diagnostic(&DIGEST_UNUSED, name.span, message);
        match phrases::closest_match(name, all.iter().map(String::as_str)) {
            Some(near) => builder.help(format!("did you mean `{near}`?")).emit(),
            None => builder.help("remove it").emit(),
        };
    }
    for release in &plan.releases {
        let Some(settings) = cluster.config.charts.get(release.chart.name) else {
            continue;
        };
        // Images in the file are checked where they are set.
        let images = release_images(release).into_iter();
        for reference in images.filter(|it| !user_references.contains(&it.as_str())) {
            let problem = parse_image(&reference)
                .ok()
                .and_then(|image| floating_tag_problem(&image));
            if let Some(problem) = problem {
                let message = format!("`{reference}` {problem}");
                let builder =
                    report.diagnostic(cluster.registry.code("GPUC2026"), settings.span, message);
                builder.help("use a version as the tag").emit();
            }
        }
    }
}
