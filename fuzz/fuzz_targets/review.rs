//! Fuzzes the library with a line of settings and a request. It must not panic, and warnings and audit annotations stay within limits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use managed_by::{AdmissionRequest, Settings, review};

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|b| *b == b'\n').unwrap_or(0);
    let (settings, request) = bytes.split_at(end);
    let settings = match Settings::from_json(settings) {
        Ok(settings) => settings,
        Err(problems) => {
            assert!(!problems.to_string().is_empty());
            Settings::default()
        }
    };
    let Ok(request) = AdmissionRequest::from_json(request) else {
        return;
    };
    let verdict = review(&request, &settings);
    assert!(verdict.warnings.iter().all(|warning| warning.len() <= 256));
    assert!(verdict.audit_annotations.iter().all(|(_, text)| text.len() <= 1024));
});
