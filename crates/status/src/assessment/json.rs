//! Reads the fields of stored objects that a verdict needs. Anyone may store a value of the wrong type in a custom resource: it is read
//! as missing.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

pub(super) fn lenient<'de, D, T>(json: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = <&RawValue>::deserialize(json)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}

macro_rules! parts {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Default, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(super) struct $name {
            $($(#[$of_field])* #[serde(deserialize_with = "super::json::lenient")] pub(super) $field: $type,)*
        }
    )*};
}
pub(super) use parts;
