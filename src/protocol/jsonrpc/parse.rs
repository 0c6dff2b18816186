//! One message out of one line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Fault, IdScanner, Invalid, RequestId, RpcError, depth_ok};
use crate::limits::{BATCH_MESSAGES_MAX, JSON_DEPTH_MAX};

/// A JSON-RPC message.
#[derive(Debug, Clone)]
pub enum Message {
    /// Wants an answer.
    Request {
        /// To be echoed.
        id: RequestId,
        /// The method.
        method: String,
        /// An object or array, as it was written.
        params: Option<Box<RawValue>>,
    },
    /// Wants none.
    Notification {
        /// The method.
        method: String,
        /// An object or array, as it was written.
        params: Option<Box<RawValue>>,
    },
    /// Answers a request of ours.
    Response {
        /// Whose answer it is; `None` for null, a missing id, or one that no request of ours can have.
        id: Option<RequestId>,
        /// The result as it was written, or the error. An error object without usable `code` has -32603; one without a
        /// usable `message` has its raw text.
        outcome: Result<Box<RawValue>, RpcError>,
    },
}

/// Reads one message: a line, with or without BOM, surrounding whitespace and CR.
///
/// The whole message, envelope included, is at most [`JSON_DEPTH_MAX`] levels deep; so `params` and `result` stay one below
/// it, which is what serde_json can turn into a tree. Unknown members are ignored.
///
/// # Errors
/// [`Invalid`], with the id where one could be told although the rest is broken.
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

/// The messages of a batch, unread.
///
/// # Errors
/// It is no array, is empty, or has more than [`BATCH_MESSAGES_MAX`] messages.
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

/// What can still be told about a line that no parser accepts.
fn broken(line: &[u8], fault: Fault) -> Invalid {
    let mut scanner = IdScanner::new();
    scanner.push(line);
    let id = if scanner.is_response() { None } else { scanner.finish() };
    Invalid { id, fault }
}

/// The members of the envelope, unread.
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
        // JSON-RPC 1.0 style peers write the other member as null.
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

/// An error, however it is written: its text must reach the reader even when the peer is sloppy.
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
                    // Read to the end all the same: the id may still come.
                    envelope.twice |= place.replace(map.next_value()?).is_some();
                }
                Ok(envelope)
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// Without the whitespace around it: that of JSON (RFC 8259, section 2), to which ASCII's form feed does not belong.
fn trim(line: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    match (line.iter().position(is_text), line.iter().rposition(is_text)) {
        (Some(first), Some(last)) => &line[first..=last],
        _ => &[],
    }
}
