//! A simulated editor that runs calls as jobs, as `src/protocol/dialect/toy_jobs/` tells, with which it shares no code. It can lose
//! what a test wants at a point of a job's life. Tools: `work` is a job, `quick` is answered at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast::net::{BoxStream, Net};
use holdfast_fake_unity::Machine;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

/// How long a reload takes.
pub const RELOAD: Duration = Duration::from_secs(2);

/// What is lost of the next request for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loses {
    /// The connection ends before the request is read whole.
    Request,
    /// The request is carried out, and the connection ends before the response.
    Response,
}

/// What a reload does to the jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// They go on.
    Keeps,
    /// They are lost, and the store has a new name.
    Loses,
}

struct Job {
    key: String,
    is_over: bool,
    is_cancelled: bool,
}

struct State {
    project: PathBuf,
    machine: Machine,
    token: String,
    store: u64,
    jobs: BTreeMap<String, Job>,
    next: u64,
    runs: BTreeMap<String, usize>,
    asked: BTreeMap<String, usize>,
    loses: Option<(&'static str, Loses)>,
    /// Whether jobs that run do not end.
    holds: bool,
    /// Whether jobs do not begin to run.
    queues: bool,
    unauthorized: usize,
}

/// The editor. It ends when it is dropped.
pub struct Editor {
    task: JoinHandle<()>,
    state: Arc<Mutex<State>>,
    reloads: watch::Sender<u64>,
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Editor {
    /// Starts an editor of this project.
    pub fn start(net: Arc<dyn Net>, machine: Machine, port: u16, project: &Path) -> Self {
        let state = State {
            project: project.to_path_buf(),
            machine,
            token: String::new(),
            store: 1,
            jobs: BTreeMap::new(),
            next: 1,
            runs: BTreeMap::new(),
            asked: BTreeMap::new(),
            loses: None,
            holds: false,
            queues: false,
            unauthorized: 0,
        };
        let state = Arc::new(Mutex::new(state));
        let reloads = watch::Sender::new(0);
        let mut reloading = reloads.subscribe();
        let task = tokio::spawn({
            let state = Arc::clone(&state);
            async move {
                loop {
                    let serving = async {
                        let listener = net.bind(port).await.expect("the port is free");
                        let mut asking = JoinSet::new();
                        loop {
                            let (stream, _) = listener.accept().await.unwrap();
                            asking.spawn(serve(stream, Arc::clone(&state)));
                        }
                    };
                    tokio::select! {
                        _ = reloading.changed() => sleep(RELOAD).await,
                        () = serving => {}
                    }
                }
            }
        });
        let it = Self { task, state, reloads };
        it.new_token("token-of-before");
        it
    }

    /// Takes another token, and writes it into the project.
    pub fn new_token(&self, token: &str) {
        let mut state = self.state.lock().unwrap();
        token.clone_into(&mut state.token);
        let file = state.project.join("Library/ToyJobs.json");
        state.machine.0.write(&file, json!({ "token": token }).to_string().as_bytes()).unwrap();
    }

    /// Reloads the domain: nobody listens for a while.
    pub fn reload(&self, how: Reload) {
        let mut state = self.state.lock().unwrap();
        if how == Reload::Loses {
            state.forget();
            state.store += 1;
        }
        drop(state);
        self.reloads.send_modify(|reloads| *reloads += 1);
    }

    /// Forgets all jobs, and nothing else is seen of it.
    pub fn forget(&self) {
        self.state.lock().unwrap().forget();
    }

    /// Loses something of the next request for this path.
    pub fn lose(&self, path: &'static str, what: Loses) {
        self.state.lock().unwrap().loses = Some((path, what));
    }

    /// Sets whether jobs that run do not end.
    pub fn hold(&self, on: bool) {
        self.state.lock().unwrap().holds = on;
    }

    /// Sets whether jobs do not begin to run.
    pub fn queue(&self, on: bool) {
        self.state.lock().unwrap().queues = on;
    }

    /// How often this key was counted.
    pub fn runs(&self, key: &str) -> usize {
        self.state.lock().unwrap().runs.get(key).copied().unwrap_or_default()
    }

    /// How often this path was asked, without its query.
    pub fn asked(&self, path: &str) -> usize {
        self.state.lock().unwrap().asked.get(path).copied().unwrap_or_default()
    }

    /// How many requests had another token.
    pub fn unauthorized(&self) -> usize {
        self.state.lock().unwrap().unauthorized
    }
}

impl State {
    fn forget(&mut self) {
        self.jobs.clear();
    }

    /// Lets time pass: what is queued begins, and what runs ends.
    fn go_on(&mut self) {
        for job in self.jobs.values_mut() {
            let has_begun = self.runs.contains_key(&job.key);
            if !has_begun && !self.queues && !job.is_cancelled {
                self.runs.insert(job.key.clone(), 1);
            } else if has_begun && !self.holds {
                job.is_over = true;
            }
        }
    }

    fn answer(&mut self, path: &str, id: &str, body: &str) -> (u16, Value) {
        self.go_on();
        match path {
            "/status" => (200, json!({"store": format!("s{}", self.store)})),
            "/tools" => (200, json!({"tools": [tool("work"), tool("quick")]})),
            "/call" => {
                let call: Value = serde_json::from_str(body).expect("JSON");
                let key = call["arguments"]["key"].as_str().unwrap_or_default().to_owned();
                if call["tool"] == "quick" {
                    *self.runs.entry(key).or_default() += 1;
                    return (200, json!({"ok": "at once"}));
                }
                assert!(!self.runs.contains_key(&key), "{key} ran before");
                let id = self.next.to_string();
                self.next += 1;
                self.jobs.insert(id.clone(), Job { key, is_over: false, is_cancelled: false });
                (200, json!({ "job": id }))
            }
            "/job" => {
                let mut said = json!({"store": format!("s{}", self.store), "job": id});
                said["state"] = match self.jobs.get(id) {
                    None => return (404, json!({})),
                    Some(job) if job.is_cancelled => "unrun".into(),
                    Some(job) if job.is_over => {
                        said["ok"] = json!({"ran": job.key});
                        "over".into()
                    }
                    Some(_) => "running".into(),
                };
                (200, said)
            }
            "/cancel" => {
                if let Some(job) = self.jobs.get_mut(id) {
                    job.is_cancelled = !self.runs.contains_key(&job.key);
                }
                (200, json!({}))
            }
            _ => panic!("{path}"),
        }
    }
}

async fn serve(mut stream: BoxStream, state: Arc<Mutex<State>>) {
    let Some((head, body)) = request(&mut stream).await else { return };
    let target = head.split(' ').nth(1).unwrap().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let store = format!("store=s{}&id=", state.lock().unwrap().store);
    // Of another store nothing is known.
    let id = query.strip_prefix(&store).unwrap_or_default();
    let response = {
        let mut state = state.lock().unwrap();
        *state.asked.entry(path.to_owned()).or_default() += 1;
        let loses = state.loses.take_if(|(of, _)| *of == path).map(|(_, what)| what);
        if loses == Some(Loses::Request) {
            return;
        }
        let (status, answer) = match head.contains(&format!("\r\nAuthorization: Bearer {}\r\n", state.token)) {
            true => state.answer(path, id, &body),
            false => {
                state.unauthorized += 1;
                (401, json!({}))
            }
        };
        if loses == Some(Loses::Response) {
            return;
        }
        let answer = answer.to_string();
        format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{answer}", answer.len())
    };
    let _ = stream.write_all(response.as_bytes()).await;
}

/// Reads a whole request; `None` if the connection ends before that.
async fn request(stream: &mut BoxStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.split_once("Content-Length: ")?.1;
        if body.len() >= length.split("\r\n").next()?.parse().ok()? {
            return Some((format!("{head}\r\n"), body.to_owned()));
        }
    }
}

fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": "Counts a key.",
        "schema": {"type": "object", "properties": {"key": {"type": "string"}}},
        "parallel": true
    })
}
