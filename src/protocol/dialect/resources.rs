//! The resources of a package's own server. Each is a text at an address, and the text is what a tool of the editor answers.

use serde_json::{Map, Value};

use crate::protocol::text::{cut_with_ellipsis, percent_decoded, quote};

/// Bytes of a value in an address that a refusal shows.
const VALUE_SHOWN_MAX_BYTES: usize = 64;
/// The parts of an address before its path: the scheme, nothing between two slashes, and the host.
const BEFORE_PATH: usize = 3;

/// A resource of a package's own server.
#[derive(Debug, PartialEq, Eq)]
pub struct PackageResource {
    /// The address. Each `{name}` in it is an argument of the tool (RFC 6570, level 1), and is a whole part between two slashes.
    pub address: String,
    /// The name in lists.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// What the text says.
    pub description: String,
    /// The editor's name of the tool that answers it.
    pub tool: String,
    /// The arguments that make the tool read, if it can do more than that.
    pub arguments: Map<String, Value>,
    /// The arguments in the address that are whole numbers.
    pub numbers: Vec<String>,
}

impl PackageResource {
    /// Whether the address has variables.
    pub fn is_template(&self) -> bool {
        self.address.contains('{')
    }

    /// Reads an address without a query: the arguments of the call. `None` if it is the address of something else.
    ///
    /// # Errors
    /// A sentence without its end: which part of the address cannot be an argument.
    pub fn arguments_at(&self, address: &str) -> Option<Result<Map<String, Value>, String>> {
        let address = address.strip_suffix('/').unwrap_or(address);
        if self.address.split('/').count() != address.split('/').count() {
            return None;
        }
        let mut given = Vec::new();
        for (at, (stated, part)) in self.address.split('/').zip(address.split('/')).enumerate() {
            match stated.strip_prefix('{').and_then(|stated| stated.strip_suffix('}')) {
                Some(_) if part.is_empty() || part.contains(['?', '#']) => return None,
                Some(name) => given.push((name, part)),
                // RFC 3986: neither the scheme nor the host depends on the case of letters, and clients normalise both.
                None if at < BEFORE_PATH && stated.eq_ignore_ascii_case(part) => {}
                None if stated == part => {}
                None => return None,
            }
        }
        let mut arguments = self.arguments.clone();
        for (name, part) in given {
            match self.argument(name, part) {
                Ok(value) => arguments.insert(name.to_owned(), value),
                Err(must) => {
                    let shown = quote(&cut_with_ellipsis(part, VALUE_SHOWN_MAX_BYTES));
                    return Some(Err(format!("{shown} in the address stands for `{name}`, which must be {must}")));
                }
            };
        }
        Some(Ok(arguments))
    }

    /// Makes an argument of a part of an address.
    fn argument(&self, name: &str, part: &str) -> Result<Value, &'static str> {
        let decoded = percent_decoded(part).ok_or("UTF-8, percent-encoded")?;
        if self.numbers.iter().any(|number| number == name) {
            return decoded.parse::<i64>().map(Value::from).map_err(|_| "a whole number");
        }
        Ok(decoded.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource(address: &str) -> PackageResource {
        PackageResource {
            address: address.to_owned(),
            name: "of".to_owned(),
            title: "Of".to_owned(),
            description: "What it is.".to_owned(),
            tool: "get".to_owned(),
            arguments: Map::new(),
            numbers: vec!["id".to_owned()],
        }
    }

    #[test]
    fn the_parts_of_an_address_are_arguments() {
        let fixed = Map::from_iter([("action".to_owned(), json!("get"))]);
        let of = PackageResource { arguments: fixed, ..resource("game://Scene/object/{id}/part/{name}") };
        assert!(of.is_template() && !resource("game://scene").is_template());
        for (address, id, name) in [
            ("game://Scene/object/-12/part/Box", -12, "Box"),
            ("GAME://scene/object/7/part/A%2fB%20%C3%A9%3F/", 7, "A/B é?"),
            ("game://Scene/object/%2D7/part/100%", -7, "100%"),
        ] {
            let expected = json!({"action": "get", "id": id, "name": name});
            assert_eq!(of.arguments_at(address).map(|read| read.map(Value::from)), Some(Ok(expected)), "{address}");
        }
        assert_eq!(resource("game://scene").arguments_at("game://SCENE/"), Some(Ok(Map::new())));
    }

    #[test]
    fn another_address_is_none_of_it() {
        let of = resource("game://scene/object/{id}");
        for other in [
            "game://scene/object",
            "game://scene/object/",
            "game://scene/object/1/2",
            "game://scene/object//",
            "game://scene/Object/1",
            "game://scene/object/1?x=2",
            "game://scene/object/1#x",
            "games://scene/object/1",
            "scene/object/1",
            "game:/scene/object/1",
            "",
        ] {
            assert_eq!(of.arguments_at(other), None, "{other}");
        }
    }

    #[test]
    fn a_part_that_can_be_no_argument_is_named() {
        let of = resource("game://object/{id}/{name}");
        let long = format!("game://object/{}/x", "9".repeat(1000));
        for (address, says) in [
            ("game://object/seven/x", "\"seven\" in the address stands for `id`, which must be a whole number"),
            ("game://object/1.5/x", "a whole number"),
            ("game://object/%20/x", "a whole number"),
            ("game://object/1/%FF", "\"%FF\" in the address stands for `name`, which must be UTF-8"),
            (&long, "a whole number"),
        ] {
            let refusal = of.arguments_at(address).unwrap().unwrap_err();
            assert!(refusal.contains(says) && refusal.len() < 200, "{refusal}");
        }
    }
}
