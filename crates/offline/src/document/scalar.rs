//! Resolves plain YAML scalars like kubectl.
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
    NonFinite,
    Text,
}

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
        | "-.inf" | "-.Inf" | "-.INF" => return Scalar::NonFinite,
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return Scalar::Text;
    }
    let plain = text.replace('_', "");
    if let Some(number) = parse_integer(&plain) {
        return Scalar::Number(number);
    }
    match float_to_json(&plain).and_then(|json| serde_json::from_str(&json).ok()) {
        Some(number) => Scalar::Number(format_float(number)),
        // Not a number, or out of range for a float (`1e999`), which Go resolves to a string too.
        None => Scalar::Text,
    }
}

/// Parses an integer in one of Go's notations: `0x1f`, `0b1`, `0o17`, `017`.
fn parse_integer(text: &str) -> Option<String> {
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

/// Converts a float that matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?` to JSON notation, which requires
/// digits on both sides of the point and no leading zeros. The JSON parser checks the exponent.
fn float_to_json(text: &str) -> Option<String> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => ("-", text),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(['e', 'E']).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at_checked(end)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = whole.bytes().chain(fraction.bytes()).peekable();
    digits.peek()?;
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let is_number = digits.all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("{sign}{whole}.{fraction}0{exponent}"))
}

/// Formats a float as JSON. Like Go, writes whole numbers without a fraction.
fn format_float(number: f64) -> String {
    let text = serde_json::Number::from_f64(number).map_or_else(String::new, |n| n.to_string());
    text.trim_end_matches(".0").to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Scalar, resolve};

    /// Cases that `tests/kubectl.rs` does not compare with kubectl's decoder.
    #[test]
    fn plain_scalars_resolve_as_in_kubectl() {
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
        // The recorded results are compared as numbers, so 1000 and 1000.0 are equal there.
        for (text, number) in [("-1", "-1"), ("1e3", "1000"), ("1.", "1")] {
            assert_eq!(resolve(text), Scalar::Number(number.to_owned()), "{text}");
        }
        assert_eq!(resolve(""), Scalar::Null);
    }
}
