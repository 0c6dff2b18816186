//! The two peers of the measurements: the editor's end, and the relay, which is the lower bound.
//!
//! Both are as small as a fair comparison permits. The peer frames and answers like a uLoop bridge, without a main thread,
//! ticks or checks. The relay reads a line, puts its arguments into a frame, writes the frame, reads the reply and writes a
//! line. Like the gateway with a serial bridge, the relay has one call at a time at the editor. It has nothing else: no ids,
//! no records, no reconnecting, no MCP.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::long;

/// Serves until stdin ends. Prints two ports, one on each line: of an editor with few tools, and of one with a long list.
pub fn serve() -> io::Result<()> {
    for tools in [TOOLS.to_owned(), long_list()] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        writeln!(io::stdout(), "{}", listener.local_addr()?.port())?;
        let tools: Arc<str> = tools.into();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let tools = Arc::clone(&tools);
                std::thread::spawn(move || converse(stream, &tools));
            }
        });
    }
    io::copy(&mut io::stdin(), &mut io::sink()).map(drop)
}

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

const TOOLS: &str = r#"{"Tools":[{"name":"echo","description":"Returns what it is given.","parameterSchema":{"Properties":{},"Required":[]}},{"name":"big","description":"Returns a text of n bytes.","parameterSchema":{"Properties":{},"Required":[]}}],"Success":true}"#;

/// Returns a list of `long::TOOLS` tools. The last one has very many parameters, the others a few each.
fn long_list() -> String {
    let parameter = |number: usize| {
        format!(
            r#""p{number:05}":{{"Type":"string","Description":"One of the values that the tool is to work with","DefaultValue":"","Enum":null}}"#
        )
    };
    let wide = long::SCHEMA_BYTES / parameter(0).len() * 5 / 4;
    let mut list = TOOLS.trim_end_matches(r#"],"Success":true}"#).to_owned();
    for number in 2..long::TOOLS {
        let parameters = if number + 1 == long::TOOLS { wide } else { 4 };
        let parameters: Vec<String> = (0..parameters).map(parameter).collect();
        list += &format!(
            r#",{{"name":"more-{number:04}","description":"One of the many tools of a large project.","parameterSchema":{{"Properties":{{{}}},"Required":[]}}}}"#,
            parameters.join(",")
        );
    }
    list + r#"],"Success":true}"#
}

fn converse(stream: TcpStream, tools: &str) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let mut input = BufReader::with_capacity(64 * 1024, stream);
    let (mut body, mut reply, mut sized) = (Vec::new(), Vec::new(), HashMap::new());
    while read_frame(&mut input, &mut body)? {
        let asked: Asked<'_> = serde_json::from_slice(&body)?;
        let params = asked.params.map_or("{}", RawValue::get);
        let made;
        let result = match asked.method {
            "set-client-name" => r#"{"Message":"ok","ClientName":"bench"}"#,
            "get-tool-details" => tools,
            "big" => {
                let bytes = serde_json::from_str::<HashMap<String, usize>>(params)?.remove("n").unwrap_or(0);
                // Made only once for each size, because the time to make the text must not be measured.
                sized.entry(bytes).or_insert_with(|| format!(r#"{{"Text":"{}"}}"#, "x".repeat(bytes))).as_str()
            }
            _ => {
                made = format!(r#"{{"Echo":{params},"Success":true}}"#);
                made.as_str()
            }
        };
        let length = r#"{"jsonrpc":"2.0","id":,"result":}"#.len() + asked.id.get().len() + result.len();
        reply.clear();
        write!(reply, "Content-Length: {length}\r\n\r\n")?;
        write!(reply, r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, asked.id)?;
        out.write_all(&reply)?;
    }
    Ok(())
}

/// Reads the body of the next frame into `body`. Returns false at the end of the stream.
fn read_frame(input: &mut impl io::BufRead, body: &mut Vec<u8>) -> io::Result<bool> {
    let mut header = String::new();
    if input.read_line(&mut header)? == 0 {
        return Ok(false);
    }
    let length = header.trim_end().strip_prefix("Content-Length: ").and_then(|digits| digits.parse().ok());
    let Some(length) = length else { return Err(io::ErrorKind::InvalidData.into()) };
    input.read_line(&mut header)?;
    body.clear();
    input.take(length).read_to_end(body)?;
    Ok(true)
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(default)]
    name: &'a str,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
}

/// Sends stdin's lines to the editor at `port` and prints its replies, until stdin ends.
pub fn relay(port: u16) -> io::Result<()> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let mut input = BufReader::with_capacity(64 * 1024, stream);
    let mut client = io::stdin().lock();
    let mut answers = io::stdout().lock();
    let (mut line, mut body, mut frame, mut answer) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    loop {
        line.clear();
        if client.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let request: Request<'_> = serde_json::from_slice(&line)?;
        let arguments = request.params.arguments.map_or("{}", RawValue::get);
        let (id, name) = (request.id, request.params.name);
        body.clear();
        write!(body, r#"{{"jsonrpc":"2.0","id":{id},"method":"{name}","params":{arguments}}}"#)?;
        frame.clear();
        write!(frame, "Content-Length: {}\r\n\r\n", body.len())?;
        frame.extend_from_slice(&body);
        out.write_all(&frame)?;
        if !read_frame(&mut input, &mut body)? {
            return Ok(());
        }
        let reply: Reply<'_> = serde_json::from_slice(&body)?;
        answer.clear();
        writeln!(answer, r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, reply.result)?;
        answers.write_all(&answer)?;
        answers.flush()?;
    }
}
