//! Checks images: digests must be used, and no user value may result in a floating tag.

use gpuc_kubernetes::names::{floating_tag_problem, parse_image};
use gpuc_model::check::Checked;
use gpuc_model::plan::{Plan, PulledImage};
use gpuc_syntax::diag::{Report, phrases};

use super::codes::DIGEST_UNUSED;
use crate::charts::images::release_images;
use crate::lower::images::user_images;

/// Checks every image of a plan.
pub(super) fn check(plan: &Plan, cluster: &Checked<'_>, report: &mut Report) {
    let user_references = user_images(cluster);
    for (name, digest) in &cluster.config.digests {
        let end = format!("@{digest}");
        if plan
            .images
            .iter()
            .any(|image| image.reference.ends_with(&end))
        {
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
        let known = plan.images.iter().map(PulledImage::public_reference);
        match phrases::closest_match(name, known) {
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
