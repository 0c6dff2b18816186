//! Documents with unusual layouts: every byte outside our entry must stay.

mod reading;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Format, Slot, entry, meaning, put, take};

const SLOT: Slot<'static> = Slot { keys: &["servers"], name: "holdfast" };

fn fields() -> Map<String, Value> {
    let fields = json!({"command": "/opt/\"odd\" {folder}/holdfast", "args": ["--project", "a,b"]});
    fields.as_object().expect("a map").clone()
}

/// Text that is allowed between two tokens.
fn gap() -> BoxedStrategy<String> {
    prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => Just(" /* a, \"b\": { } ] */ ".to_owned()),
        1 => Just(" // one, } \"two\": 3\n".to_owned()),
        1 => Just("// three // four\r\n    ".to_owned()),
        1 => Just("/*\n * five\n */".to_owned()),
    ]
    .boxed()
}

fn leaf() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1".to_owned()),
        Just("-2.50e3".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just(r#""""#.to_owned()),
        Just(r#""// no /* comment""#.to_owned()),
        Just(r#""a \"quoted\" \\ , } ü""#.to_owned()),
    ]
}

fn list(open: char, items: Vec<(String, String, String)>, trailing: bool, last: &str, close: char) -> String {
    let count = items.len();
    let mut text = open.to_string();
    for (index, (before, item, after)) in items.into_iter().enumerate() {
        let comma = if index + 1 < count || trailing { "," } else { "" };
        text += &format!("{before}{item}{after}{comma}");
    }
    format!("{text}{last}{close}")
}

fn object(value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let member = (gap(), gap(), gap(), value, gap());
    (prop::collection::vec(member, 0..4), any::<bool>(), gap())
        .prop_map(|(members, trailing, last)| {
            let members = members.into_iter().enumerate().map(|(index, (before, colon, space, value, after))| {
                (before, format!("\"k{index}\"{colon}:{space}{value}"), after)
            });
            list('{', members.collect(), trailing, &last, '}')
        })
        .boxed()
}

fn any_value() -> BoxedStrategy<String> {
    leaf()
        .prop_recursive(3, 16, 4, |inner| {
            let items = prop::collection::vec((gap(), inner.clone(), gap()), 0..3);
            let array = (items, any::<bool>(), gap())
                .prop_map(|(items, trailing, last)| list('[', items, trailing, &last, ']'));
            prop_oneof![object(inner), array]
        })
        .boxed()
}

/// A document that may contain a map of servers.
fn document() -> BoxedStrategy<String> {
    let value = any_value();
    let member = (gap(), gap(), gap(), value.clone(), gap());
    let servers = prop::option::of((gap(), object(value), gap()));
    (prop::collection::vec(member, 0..4), servers, any::<prop::sample::Index>(), any::<bool>(), gap(), gap(), gap())
        .prop_map(|(members, servers, place, trailing, last, head, tail)| {
            let mut members: Vec<(String, String, String)> = members
                .into_iter()
                .enumerate()
                .map(|(index, (before, colon, space, value, after))| {
                    (before, format!("\"m{index}\"{colon}:{space}{value}"), after)
                })
                .collect();
            if let Some((before, map, after)) = servers {
                let at = place.index(members.len() + 1);
                members.insert(at, (before, format!("\"servers\": {map}"), after));
            }
            format!("{head}{}{tail}", list('{', members, trailing, &last, '}'))
        })
        .boxed()
}

/// Whether `short` is what remains of `long` after some bytes are removed.
fn within(short: &str, long: &str) -> bool {
    let mut long = long.bytes();
    short.bytes().all(|byte| long.any(|other| other == byte))
}

fn members_of(value: &Value) -> Option<&Map<String, Value>> {
    value.get("servers")?.as_object()
}

proptest! {
    // The variable PROPTEST_CASES raises the number of cases.
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_outside_of_our_entry_stay(before in document()) {
        let was = reading::json(&before).expect("the generator writes what the reader takes");
        let after = put(Format::Json, &before, SLOT, &fields()).map_err(|error| TestCaseError::fail(format!("{error}\n{before}")))?;
        let is = reading::json(&after).map_err(TestCaseError::fail)?;
        prop_assert_eq!(is["servers"]["holdfast"].as_object(), Some(&fields()));

        // Everything is still there, in its order. Only blanks in an empty map may be removed.
        let had = members_of(&was).is_some_and(|members| !members.is_empty());
        if had {
            prop_assert!(within(&before, &after), "{} -> {}", before, after);
        } else {
            let solid = |text: &str| text.chars().filter(|character| !character.is_whitespace()).collect::<String>();
            prop_assert!(within(&solid(&before), &solid(&after)), "{} -> {}", before, after);
        }
        let mut rest = is.clone();
        rest["servers"].as_object_mut().expect("a map").shift_remove("holdfast");
        if members_of(&was).is_none() {
            rest.as_object_mut().expect("a map").shift_remove("servers");
        }
        prop_assert_eq!(&rest, &was);

        let again = put(Format::Json, &after, SLOT, &fields()).expect("what was written can be read");
        prop_assert_eq!(&again, &after);
        let gone = take(Format::Json, &after, SLOT).map_err(|error| TestCaseError::fail(format!("{error}\n{after}")))?;
        if had {
            prop_assert_eq!(&gone, &before);
        }
        prop_assert_eq!(members_of(&reading::json(&gone).map_err(TestCaseError::fail)?).map(|members| members.contains_key("holdfast")), Some(false));
    }

    /// Our entry can be removed from any position in the map, whatever surrounds it, and the rest stays.
    #[test]
    fn an_entry_anywhere_can_be_taken_out(document in document(), at in any::<prop::sample::Index>()) {
        // One of the members becomes our entry.
        let was = reading::json(&document).expect("the generator writes what the reader takes");
        let names: Vec<String> = members_of(&was).into_iter().flat_map(Map::keys).cloned().collect();
        prop_assume!(!names.is_empty());
        let name = &names[at.index(names.len())];
        let slot = Slot { keys: &["servers"], name };
        let gone = take(Format::Json, &document, slot).map_err(|error| TestCaseError::fail(format!("{error}\n{document}")))?;
        let mut rest = was.clone();
        rest["servers"].as_object_mut().expect("a map").shift_remove(name);
        prop_assert_eq!(reading::json(&gone).map_err(TestCaseError::fail)?, rest);
        prop_assert!(within(&gone, &document));
    }

    /// Every text is either accepted or refused, without a panic.
    #[test]
    fn no_text_breaks_the_editor(text in "[\\[\\]{}\":,/*#\\-\\n\\r a-c0-9=.'&|>]{0,60}", format in prop_oneof![Just(Format::Json), Just(Format::Toml), Just(Format::Yaml)]) {
        if let Ok(after) = put(format, &text, SLOT, &fields()) {
            let is = meaning(format, &after).expect("an edit is proven");
            let wanted = fields();
            prop_assert_eq!(entry(&is, SLOT).and_then(|entry| entry.get("command")), wanted.get("command"));
            let gone = take(format, &after, SLOT).map(|gone| meaning(format, &gone).expect("an edit is proven"));
            if let Ok(gone) = gone {
                prop_assert!(entry(&gone, SLOT).is_none());
            }
        }
    }
}

fn toml_after(before: &str) -> String {
    put(Format::Toml, before, SLOT, &fields()).unwrap_or_else(|error| panic!("{error} in {before}"))
}

#[test]
fn toml_is_taken_out_wherever_it_stands() {
    for before in [
        "",
        "a = 1\n",
        "a = 1",
        "[servers.x]\na = 1\n",
        "[servers]\n",
        "# only a comment\n",
        "a = 1\n\n\n",
        "servers.x.a = 1\n",
        "t = 2025-11-03T09:00:00Z\n",
    ] {
        let gone = take(Format::Toml, &toml_after(before), SLOT).expect("a table of its own");
        assert_eq!(gone, before);
    }
    let written = toml_after("a = 1\n");
    let followed = format!("{written}\n[servers.holdfast.env]\nKEY = \"1\"\n\n# of the next\n[next]\nb = 2\n");
    assert_eq!(take(Format::Toml, &followed, SLOT).expect("tables"), "a = 1\n\n# of the next\n[next]\nb = 2\n");
    for refused in ["servers = { x = { a = 1 } }\n", "[[servers]]\na = 1\n", "servers = 1\n"] {
        assert!(put(Format::Toml, refused, SLOT, &fields()).is_err(), "{refused}");
    }
    let inline = "[servers]\nholdfast = { command = \"x\" } # mine\n";
    assert!(take(Format::Toml, inline, SLOT).is_err());
}

#[test]
fn yaml_is_edited_in_block_style_and_refused_otherwise() {
    let kept = [
        "servers:\n  x:\n    a: 1\n",
        "a: 1\nservers:\n    x: {a: 1}\n\n    y: {}\nb: 2\n",
        "servers: # mine\n  # first\n  x:\n    a: |\n      text\n\n",
        "\"servers\":\n  x: 1",
    ];
    for before in kept {
        let after = put(Format::Yaml, before, SLOT, &fields()).unwrap_or_else(|error| panic!("{error} in {before}"));
        assert_eq!(take(Format::Yaml, &after, SLOT).expect("a block"), before, "{after}");
        assert_eq!(reading::read("x.yaml", after.as_bytes())["servers"]["holdfast"], Value::Object(fields()));
    }
    for empty in [
        "servers:\n",
        "servers: {}\n",
        "a: 1\nservers: {}\nb: 1\n",
        "servers: # none\nb: 1\n",
        "# nothing\n",
        "---\na: 1\n",
    ] {
        let after = put(Format::Yaml, empty, SLOT, &fields()).unwrap_or_else(|error| panic!("{error} in {empty}"));
        assert_eq!(
            reading::read("x.yaml", after.as_bytes())["servers"]["holdfast"],
            Value::Object(fields()),
            "{after}"
        );
    }
    for refused in [
        "servers: {x: {a: 1}}\n",
        "{servers: {}}\n",
        "- 1\n",
        "servers: [1]\n",
        "a: 1\n---\nb: 1\n",
        "servers: &a {}\nx: *a\n",
    ] {
        let put = put(Format::Yaml, refused, SLOT, &fields());
        assert!(put.is_err(), "{refused} -> {put:?}");
    }
}
