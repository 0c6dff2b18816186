//! Parses one message from one line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Fault, IdScanner, Invalid, RequestId, RpcError, depth_ok};
use crate::limits::{BATCH_MESSAGES_MAX, JSON_DEPTH_MAX};

/// A JSON-RPC message.
#[derive(Debug, Clone)]
pub enum Message {
    /// A request, which must be answered.
    Request {
        /// The id to repeat in the answer.
        id: RequestId,
        /// The method.
        method: String,
        /// An object or array, as the peer wrote it.
        params: Option<Box<RawValue>>,
    },
    /// A notification, which gets no answer.
    Notification {
        /// The method.
        method: String,
        /// An object or array, as the peer wrote it.
        params: Option<Box<RawValue>>,
    },
    /// A response to a request of ours.
    Response {
        /// The id of the request; `None` if the id is null, missing, or not a valid id.
        id: Option<RequestId>,
        /// The result as the peer wrote it, or the error. An error object without a usable `code` gets -32603; one without
        /// `message` gets its raw text.
        outcome: Result<Box<RawValue>, RpcError>,
    },
}

/// Parses one line. A BOM, white space around the message and a CR are ignored.
///
/// The whole message, envelope included, may be [`JSON_DEPTH_MAX`] levels deep. So `params` and `result` are at least one level
/// less deep, and serde_json can turn them into a tree. Unknown members are ignored.
///
/// # Errors
/// [`Invalid`], with the id if it is certain although the rest is broken.
pub fn parse(line: &[u8]) -> Result<Message, Invalid> {
    let line = trim(line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line));
    let text = str::from_utf8(line).map_err(|_| broken(line, Fault::NotUtf8))?;
    if !depth_ok(line, JSON_DEPTH_MAX) {
        return Err(broken(line, Fault::TooDeep));
    }
    if line.first() != Some(&b'{') {
        let fault = match serde_json::from_str::<&RawValue>(text) {
            Err(_) => Fault::NotJson,
            Ok(_) if line.first() == Some(&b'[') => Fault::Batch,
            Ok(_) => Fault::NotAnObject,
        };
        return Err(Invalid { id: None, fault });
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|_| broken(line, Fault::NotJson))?;
    if envelope.method.is_none() && (envelope.result.is_some() || envelope.error.is_some()) {
        envelope.into_response()
    } else {
        envelope.into_request()
    }
}

/// Splits a batch into its messages, unparsed.
///
/// # Errors
/// The line is not UTF-8, is not an array, is empty, or has more than [`BATCH_MESSAGES_MAX`] messages.
pub fn members(line: &[u8]) -> Result<Vec<&str>, Fault> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Option<Vec<&'de str>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON-RPC batch")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
            let (mut members, mut count) = (Vec::new(), 0);
            while let Some(member) = sequence.next_element::<&RawValue>()? {
                count += 1;
                if count <= BATCH_MESSAGES_MAX {
                    members.push(member.get());
                }
            }
            Ok((1..=BATCH_MESSAGES_MAX).contains(&count).then_some(members))
        }
    }

    let text = str::from_utf8(line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)).map_err(|_| Fault::NotUtf8)?;
    let read = serde_json::Deserializer::from_str(text).deserialize_seq(Members);
    read.map_err(|_| Fault::NotJson)?.ok_or(Fault::BadBatch)
}

/// Searches a line that cannot be parsed for its id.
fn broken(line: &[u8], fault: Fault) -> Invalid {
    let mut scanner = IdScanner::new();
    scanner.push(line);
    let id = if scanner.is_response() { None } else { scanner.finish() };
    Invalid { id, fault }
}

/// The unparsed members of the envelope.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    id_twice: bool,
    twice: bool,
}

impl Envelope<'_> {
    fn has_version(&self) -> bool {
        self.jsonrpc.is_some_and(|raw| string(raw).is_some_and(|text| text == "2.0"))
    }

    fn into_request(self) -> Result<Message, Invalid> {
        let id = self.id.filter(|_| !self.id_twice).and_then(|raw| RequestId::from_json(raw.get()));
        let refuse = |fault| Err(Invalid { id: id.clone(), fault });
        if self.twice {
            return refuse(Fault::DuplicateMember);
        }
        if !self.has_version() {
            return refuse(Fault::BadVersion);
        }
        if self.id.is_some() && id.is_none() {
            return refuse(Fault::BadId);
        }
        let Some(method) = self.method else { return refuse(Fault::NoMethod) };
        let Some(method) = string(method) else { return refuse(Fault::BadMethod) };
        if self.params.is_some_and(|raw| !raw.get().starts_with(['{', '['])) {
            return refuse(Fault::BadParams);
        }
        let params = self.params.map(RawValue::to_owned);
        Ok(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        })
    }

    fn into_response(self) -> Result<Message, Invalid> {
        const BAD: Invalid = Invalid { id: None, fault: Fault::BadResponse };
        if self.twice || !self.has_version() {
            return Err(BAD);
        }
        // Peers in the style of JSON-RPC 1.0 send both members and set the unused one to null.
        let outcome = match (self.result, self.error.filter(|raw| raw.get() != "null")) {
            (Some(result), None) => Ok(result.to_owned()),
            (None, Some(error)) => Err(read_error(error)),
            (Some(result), Some(error)) if result.get() == "null" => Err(read_error(error)),
            _ => return Err(BAD),
        };
        let id = self.id.and_then(|raw| RequestId::from_json(raw.get()));
        Ok(Message::Response { id, outcome })
    }
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Reads an error in any form, so that its text is shown even if the peer does not follow the specification.
fn read_error(raw: &RawValue) -> RpcError {
    #[derive(serde::Deserialize)]
    struct ErrorObject<'a> {
        #[serde(borrow)]
        code: Option<&'a RawValue>,
        #[serde(borrow)]
        message: Option<&'a RawValue>,
        #[serde(borrow)]
        data: Option<&'a RawValue>,
    }
    let text = |raw: &RawValue| string(raw).unwrap_or_else(|| raw.get().to_owned());
    let object =
        if raw.get().starts_with('{') { serde_json::from_str::<ErrorObject<'_>>(raw.get()).ok() } else { None };
    match object {
        Some(ErrorObject { code, message, data }) => RpcError {
            code: code.and_then(|code| code.get().parse().ok()).unwrap_or(RpcError::INTERNAL),
            message: text(message.unwrap_or(raw)),
            data: data.map(RawValue::to_owned),
        },
        None => RpcError::internal(text(raw)),
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Envelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(member) = map.next_key::<Member>()? {
                    let place = match member {
                        Member::Jsonrpc => &mut envelope.jsonrpc,
                        Member::Id => {
                            envelope.id_twice |= envelope.id.is_some();
                            &mut envelope.id
                        }
                        Member::Method => &mut envelope.method,
                        Member::Params => &mut envelope.params,
                        Member::Result => &mut envelope.result,
                        Member::Error => &mut envelope.error,
                        Member::Other => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    // After a duplicate the rest is still read, because the id may follow.
                    envelope.twice |= place.replace(map.next_value()?).is_some();
                }
                Ok(envelope)
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// Removes the white space around the text: only the characters that JSON allows (RFC 8259, section 2), so not a form feed.
fn trim(line: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    match (line.iter().position(is_text), line.iter().rposition(is_text)) {
        (Some(first), Some(last)) => &line[first..=last],
        _ => &[],
    }
}
