//! Fields of the structs in the spec of a Job, and kube-apiserver's defaults.

use serde_json::Value;

/// The fields of each struct, as `make update-parity` writes them: see `parity/src/fields.rs`.
const FIELDS: &str = include_str!("fields.txt");

/// A field of a struct in the API.
#[derive(Clone, Copy)]
pub(super) struct Field {
    /// The Go type: a scalar, a struct, or `*type`, `[type` (a list) or `{type` (a map with strings as keys).
    pub(super) of: &'static str,
    /// Member that identifies the elements of a list in kubectl's patches, or `-` for the elements themselves.
    pub(super) key: Option<&'static str>,
    /// First minor release that stores the field without a feature gate.
    pub(super) since: u8,
    default: Option<&'static str>,
}

/// Returns a field of a struct, if any release has it.
pub(super) fn field(structure: &str, name: &str) -> Option<Field> {
    let member = |text: &'static str, name: &str, end| text.strip_prefix(name)?.strip_prefix(end);
    let fields = FIELDS
        .lines()
        .find_map(|line| member(line, structure, ' '))?;
    let field = fields
        .split(' ')
        .find_map(|field| member(field, name, ':'))?;
    let split = |text: &'static str, at| {
        text.split_once(at)
            .map_or((text, None), |(text, rest)| (text, Some(rest)))
    };
    let (field, default) = split(field, '=');
    let (field, since) = split(field, '@');
    let (of, key) = split(field, '/');
    let since = since
        .and_then(|since| since.parse().ok())
        .unwrap_or_default();
    Some(Field {
        of,
        key,
        since,
        default,
    })
}

impl Field {
    /// Returns the default of the field in a parent.
    pub(super) fn default(&self, structure: &str, parent: &Value) -> Option<Value> {
        let default = self.default?;
        if default == "by-image" {
            let image = parent.get("image").or_else(|| parent.get("reference"));
            let is_latest = image.and_then(Value::as_str).is_some_and(is_latest);
            return Some(if is_latest { "Always" } else { "IfNotPresent" }.into());
        }
        let mut members = parent.as_object().into_iter().flatten();
        if structure == "Volume" && members.any(|(name, value)| name != "name" && !value.is_null())
        {
            return None;
        }
        serde_json::from_str(default).ok()
    }

    /// Returns true for a value that the default replaces.
    pub(super) fn is_zero(&self, value: &Value) -> bool {
        match self.of {
            "string" => value == "",
            "int32" => *value == 0,
            _ => false,
        }
    }
}

/// Returns true if an image has the tag `latest`, or neither tag nor digest.
fn is_latest(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    match name.split_once(':') {
        _ if image.contains('@') => false,
        Some((_, tag)) => tag == "latest",
        None => !image.is_empty(),
    }
}

/// Returns a scalar in a form in which equal values are equal. [`None`] if kube-apiserver may convert or reject it.
pub(super) fn scalar(of: &str, value: Option<&Value>) -> Option<Value> {
    let Some(value) = value else {
        return Some(match of {
            "string" | "time" => "".into(),
            "bool" => false.into(),
            _ => 0.into(),
        });
    };
    match of {
        "bool" => value.as_bool().map(Value::from),
        "int32" => value
            .as_i64()
            .and_then(|n| i32::try_from(n).ok())
            .map(Value::from),
        "int64" => value.as_i64().map(Value::from),
        "number-or-name" if value.is_number() => scalar("int32", Some(value)),
        "quantity" => nanos(value).map(|nanos| nanos.to_string().into()),
        // Other spellings of an instant are equal.
        "time" => None,
        _ => value.as_str().map(Value::from),
    }
}

/// Returns a quantity in billionths, if it is a multiple of a thousandth: kube-apiserver rounds others.
fn nanos(quantity: &Value) -> Option<i128> {
    const SUFFIXES: [(&str, i128); 13] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("Ei", 1 << 60),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
        ("E", 1_000_000_000_000_000_000),
        ("", 1),
    ];
    let text = quantity
        .as_str()
        .map_or_else(|| quantity.to_string(), str::to_owned);
    if let Some(millis) = text.strip_suffix('m') {
        return millis.parse::<i128>().ok()?.checked_mul(1_000_000);
    }
    let (number, factor) = SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction:0<9}");
    let is_plain = digits
        .trim_start_matches(['+', '-'])
        .bytes()
        .all(|byte| byte.is_ascii_digit());
    let nanos = digits
        .parse::<i128>()
        .ok()
        .filter(|_| is_plain && fraction.len() <= 9)?
        .checked_mul(*factor)?;
    (nanos % 1_000_000 == 0).then_some(nanos)
}
