//! Resolves plain YAML scalars as kubectl does.
//!
//! Source: `resolve` of the `goyaml.v2` in `sigs.k8s.io/yaml`, which kubectl and kube-apiserver use: YAML 1.1, in which
//! `yes` and `on` are booleans and `010` is 8. Times stay strings.

/// The value of a plain scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    /// A number in JSON notation.
    Number(String),
    /// A number that JSON cannot represent: infinity or NaN.
    NotInJson,
    Text,
}

/// Resolves a plain scalar.
pub(super) fn resolve(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => return Scalar::NotInJson,
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return Scalar::Text;
    }
    let plain = text.replace('_', "");
    if let Some(number) = integer(&plain) {
        return Scalar::Number(number);
    }
    if is_float(&plain) {
        return match serde_json::from_str(&as_json(&plain)) {
            Ok(number) => Scalar::Number(float(number)),
            // Go cannot represent such a float and reads it as a string.
            _ => Scalar::Text,
        };
    }
    Scalar::Text
}

/// Parses an integer in one of Go's notations: `0x1f`, `0b1`, `0o17`, `017`.
fn integer(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = if let Some(digits) = lower.strip_prefix("0x") {
        (digits, 16)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (digits, 2)
    } else if let Some(digits) = lower.strip_prefix("0o") {
        (digits, 8)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (&*lower, 8)
    } else {
        (&*lower, 10)
    };
    if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let number = u64::from_str_radix(digits, radix).ok()?;
    let fits = sign.is_empty() || number <= i64::MIN.unsigned_abs();
    fits.then(|| format!("{sign}{number}"))
}

/// Matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let is_mantissa = match mantissa.split_once('.') {
        Some((whole, part)) => {
            digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty())
        }
        None => digits(mantissa) && !mantissa.is_empty(),
    };
    let is_exponent = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['+', '-']).unwrap_or(e);
        digits(e) && !e.is_empty()
    });
    is_mantissa && is_exponent
}

/// Converts a YAML float to JSON notation: digits on both sides of the point, no leading zeros.
fn as_json(text: &str) -> String {
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => ("-", text),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(['e', 'E']).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at_checked(end).unwrap_or((text, ""));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    format!("{sign}{whole}.{part}0{exponent}")
}

/// Formats a float as JSON. Like Go, writes whole numbers without a fraction.
fn float(number: f64) -> String {
    let text = serde_json::Number::from_f64(number).map_or_else(String::new, |n| n.to_string());
    text.strip_suffix(".0")
        .map_or_else(|| text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{Scalar, resolve};

    /// Cases that `tests/kubectl.rs` does not compare with kubectl's decoder.
    #[test]
    fn plain_scalars_mean_what_kubectl_takes_them_for() {
        for text in [
            "1.30.2",
            "0x",
            "-",
            "1e999",
            "nothing",
            "kubernetes.io/job-controller",
        ] {
            assert_eq!(resolve(text), Scalar::Text, "{text}");
        }
        // The recorded answers are compared as numbers, so 1000 and 1000.0 are equal there.
        for (text, number) in [("-1", "-1"), ("1e3", "1000"), ("1.", "1")] {
            assert_eq!(resolve(text), Scalar::Number(number.to_owned()), "{text}");
        }
        assert_eq!(resolve(""), Scalar::Null);
    }
}
