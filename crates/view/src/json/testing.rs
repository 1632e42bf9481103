//! What tests of documents ask.

use super::document::{Head, Published, WithHead, schema, to_line};
use crate::samples::system_info;
use serde_json::Value;

/// Holds documents against their schema.
pub(crate) fn validator<T: Published>() -> jsonschema::Validator {
    jsonschema::validator_for(&schema::<T>()).unwrap_or_else(|error| panic!("{error}"))
}

/// What a document says for which this was asked for; it must keep to its schema.
pub(crate) fn valid<T: Published>(document: &T, config: T::Config) -> Value {
    let head = Head {
        system_info: &system_info(),
        config,
        supplied: &["delaylab".to_owned()],
    };
    let line = to_line(&WithHead::new(head, document));
    let value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}"));
    let validator = validator::<T>();
    let errors: Vec<_> = (validator.iter_errors(&value))
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    value
}
