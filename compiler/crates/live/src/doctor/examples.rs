//! The examples of all checks: each fault has one cause with the check's code, and the correction has none.

use gpuc_syntax::diag::split_objects;

use super::CHECKS;
use super::testing::diagnose_objects;

#[test]
fn planted_faults_are_found() {
    for check in CHECKS {
        let (configuration, objects) = split_objects(check.code.bad).unwrap();
        let (diagnosis, text) = diagnose_objects(configuration, objects);
        let causes = diagnosis.causes.iter();
        let codes: Vec<_> = causes.map(|it| it.finding.code.id).collect();
        assert_eq!(codes, [check.code.id], "{text}");
        let [cause] = &diagnosis.causes[..] else {
            panic!("{text}")
        };
        assert!(!cause.finding.help.is_empty(), "{text}");
        assert!(
            !cause.finding.evidence.is_empty() || check.code.id == "GPUC7302",
            "{text}"
        );
    }
}

#[test]
fn corrected_examples_are_healthy() {
    for check in CHECKS {
        let good = check.code.good();
        let (configuration, objects) = split_objects(&good).unwrap();
        let (diagnosis, text) = diagnose_objects(configuration, objects);
        assert!(diagnosis.causes.is_empty(), "{}: {text}", check.code.id);
    }
}

#[test]
fn faults_are_printed() {
    for check in CHECKS {
        let (configuration, objects) = split_objects(check.code.bad).unwrap();
        let (_, text) = diagnose_objects(configuration, objects);
        assert!(text.contains(check.code.name), "{text}");
        assert!(!text.contains("  = input: \n"), "{text}");
    }
}
