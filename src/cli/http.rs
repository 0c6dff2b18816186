//! `holdfast hub --http`: serves MCP over HTTP. Joins the service with the sessions that serve its messages.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::actors::gateway::Spawn;
use crate::actors::parts::Parts;
use crate::client::{Conversation, Posting};
use crate::config::{self, Config};
use crate::core::editors::{Choice, Known, Presence, Refusal, Scope, choose};
use crate::core::router::Route;
use crate::core::user_text;
use crate::limits::http::{HTTP_LOOK_EVERY, HTTP_LOOK_MAX};
use crate::limits::{EDITORS_SOUGHT_MAX, SURVEY_MAX};
use crate::net::{Listener, Net, Tcp};
use crate::platform::host::{self, Host, RealHost};
use crate::runtime::enter;
use crate::services::Gateway;
use crate::services::mcp::{Guard, HostName, Hub, Server};
use crate::storage::{catalogue_file, http_token};
use crate::survey;
use crate::telemetry::events::Events;
use crate::transport::posts::Posts;
use crate::transport::several::Several;

/// Flags of what a hub serves over HTTP.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "MCP over HTTP")]
pub(super) struct HttpArgs {
    /// Serve MCP over HTTP at this address too
    ///
    /// Such as 127.0.0.1:8787; port 0 is a free one, which `holdfast status` shows. Clients need the token, which is made in the
    /// state folder (http_token). See docs/http.md.
    #[arg(long, value_name = "ADDR:PORT", env = "HOLDFAST_HTTP", value_parser = address)]
    pub http: Option<SocketAddr>,
    /// Take the token from this file
    ///
    /// One line, in a file that only you can read. Without this the hub makes a token of its own.
    #[arg(long, value_name = "FILE", env = "HOLDFAST_HTTP_TOKEN_FILE", requires = "http", hide_short_help = true)]
    pub http_token_file: Option<PathBuf>,
    /// A host by which clients know the service besides localhost
    ///
    /// Such as mcp.example.com, behind a proxy. May be given several times.
    #[arg(
        long,
        value_name = "HOST",
        env = "HOLDFAST_HTTP_HOST",
        value_delimiter = ',',
        requires = "http",
        hide_short_help = true
    )]
    pub http_host: Vec<HostName>,
    /// Allow an address that other machines can reach
    ///
    /// Needs --http-token-file and --http-host. HTTP is not encrypted: put a proxy with TLS in front.
    #[arg(long, requires_all = ["http_token_file", "http_host", "http"], hide_short_help = true)]
    pub http_allow_remote: bool,
}

#[derive(Debug)]
pub(super) struct HttpSettings {
    address: SocketAddr,
    token_file: Option<PathBuf>,
    hosts: Vec<HostName>,
}

impl HttpArgs {
    /// Returns the settings of the service; `None` if it is not wanted.
    pub fn settings(&self) -> Result<Option<HttpSettings>, String> {
        let Some(address) = self.http else { return Ok(None) };
        if !address.ip().is_loopback() && !self.http_allow_remote {
            return Err(format!(
                "--http {address}: other machines may reach this address. Name one of this machine, such as 127.0.0.1:{}, or add \
                 --http-allow-remote with --http-token-file and --http-host, and put a proxy with TLS in front",
                address.port()
            ));
        }
        let (token_file, hosts) = (self.http_token_file.clone(), self.http_host.clone());
        Ok(Some(HttpSettings { address, token_file, hosts }))
    }
}

impl HttpSettings {
    /// Returns the absolute path of the token's file; `None` if the path cannot be written as text.
    pub fn token_file(&self, state: &Path) -> Option<PathBuf> {
        let file = self.token_file.clone().unwrap_or_else(|| http_token::path_in(state));
        std::path::absolute(file).ok().filter(|file| file.to_str().is_some())
    }

    pub async fn check(&self) -> Result<(), String> {
        if let Some(file) = &self.token_file {
            http_token::read(&RealHost, file)?;
        }
        listener(&Tcp, self.address).await.map(drop)
    }

    pub async fn serve<S: Spawn>(
        self,
        parts: &Arc<Parts>,
        several: &Arc<Several<S>>,
        state: &Path,
    ) -> Result<Server, String> {
        let Self { address, token_file, hosts } = self;
        let token = match &token_file {
            Some(file) => http_token::read(&*parts.env.host, file)?,
            None => http_token::own(&*parts.env.host, state)?,
        };
        let listener = listener(&*parts.env.net, address).await?;
        let posts = several.take_posts();
        let address = listener.local_addr();
        parts.env.serves_http_at(address);
        parts.env.events.http_listening(address);
        let guard = Guard::new(&token, hosts, parts.env.host.random());
        Ok(Server::start(&Arc::new(Served::new(Arc::clone(parts), posts)), guard, listener))
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.trim().parse().map_err(|_| "an address in numbers and a port are meant, such as 127.0.0.1:8787".to_owned())
}

async fn listener(net: &dyn Net, address: SocketAddr) -> Result<Arc<dyn Listener>, String> {
    let bound = match address.ip().is_loopback() {
        true => net.bind_at(address).await,
        false => holdfast_net::bind_anywhere(address).await,
    };
    bound.map_err(|error| {
        format!(
            "MCP cannot be served over HTTP at {address}: {error}. Name another port with --http, or 0 for a free one, or end the \
             program that has this one"
        )
    })
}

/// The hub, as the service sees it.
pub struct Served<S> {
    parts: Arc<Parts>,
    posts: Posts<S>,
    /// The projects that were known at the last look, with its time; `None` before the first look.
    looked: watch::Sender<Option<(Instant, Vec<PathBuf>)>>,
    looking: std::sync::Mutex<bool>,
}

impl<S: Spawn> Served<S> {
    /// Makes the view of a hub that serves single messages.
    pub fn new(parts: Arc<Parts>, posts: Posts<S>) -> Self {
        Self { parts, posts, looked: watch::Sender::new(None), looking: std::sync::Mutex::new(false) }
    }

    /// The projects that the hub knows: those with a link, and those whose tools are on disk.
    fn known(&self) -> Vec<Known> {
        let mut known = self.parts.links.known();
        let on_disk = self.looked.borrow().as_ref().map(|(_, projects)| projects.clone()).unwrap_or_default();
        for project in on_disk {
            if !known.iter().any(|known| known.project == project) {
                known.push(Known { project, editor: Presence::Unknown });
            }
        }
        known
    }

    /// Connects to the running editors of the projects whose tools are on disk.
    async fn look(self: Arc<Self>) {
        let (env, links) = (Arc::clone(&self.parts.env), Arc::clone(&self.parts.links));
        let host = Arc::clone(&env.host);
        // A link may have been opened only for kept results, without its editor.
        let sought = links.all().into_iter().filter(|link| link.contact.is_wanted());
        let sought: Vec<PathBuf> = sought.filter_map(|link| link.leads_to().map(Path::to_path_buf)).collect();
        let look = move || {
            let state = env.config.state_dir.clone();
            let heads = state.map(|state| catalogue_file::heads(&*env.host, &state)).unwrap_or_default();
            let projects: Vec<PathBuf> =
                heads.into_iter().map(|head| head.project).filter(|project| config::is_project(project)).collect();
            let runs = |project: &&PathBuf| {
                let config = Config { project: Some((*project).clone()), ..Config::clone(&env.config) };
                !sought.contains(project) && !survey::survey(&*env.host, &config, &[], None).targets.is_empty()
            };
            let running: Vec<PathBuf> = projects.iter().filter(runs).take(EDITORS_SOUGHT_MAX).cloned().collect();
            (projects, running)
        };
        let found = timeout(SURVEY_MAX, host::run(&*host, look)).await.ok().flatten();
        // If a disk hangs, the projects of the last look stay.
        let before = || self.looked.borrow().as_ref().map(|(_, projects)| projects.clone()).unwrap_or_default();
        let (projects, running) = found.unwrap_or_else(|| (before(), Vec::new()));
        // The names are known at once, although an editor of another project may take long to answer.
        self.looked.send_replace(Some((Instant::now(), projects)));
        let mut opened = Vec::new();
        for project in running {
            // With too many links some of these editors are not reached.
            if let Ok(link) = links.to_project(&project) {
                link.contact.want_editor();
                opened.push(link);
            }
        }
        // Until this is over, a running editor could count as closed.
        let settled = async {
            for link in &opened {
                link.settled().await;
            }
        };
        let _ = timeout(HTTP_LOOK_MAX, settled).await;
        self.looked.send_modify(|_| *enter(&self.looking) = false);
    }
}

impl<S: Spawn> Gateway for Served<S> {
    fn net(&self) -> &Arc<dyn Net> {
        &self.parts.env.net
    }

    fn host(&self) -> &Arc<dyn Host> {
        &self.parts.env.host
    }

    fn events(&self) -> &Events {
        &self.parts.env.events
    }

    fn random_fraction(&self) -> f64 {
        self.parts.env.random_fraction()
    }

    fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.parts.env.health.spawn(name, task)
    }
}

impl<S: Spawn> Hub for Served<S> {
    fn is_ending(&self) -> bool {
        self.posts.is_ending()
    }

    async fn project(self: &Arc<Self>, name: &str) -> Result<PathBuf, String> {
        if Path::new(name).is_absolute() {
            let path = PathBuf::from(name);
            let named = host::run(&*self.parts.env.host, move || config::named_project(&path)).await;
            return match named {
                Some(Ok(project)) => Ok(project),
                Some(Err(why)) => Err(format!("{why}; nothing was executed")),
                None => Err("the path could not be looked at; nothing was executed".to_owned()),
            };
        }
        self.look_around().await;
        match choose(&Route::Nobody(Vec::new()), &Scope::All, || self.known(), &[name.to_owned()]) {
            // A call to a closed editor says itself that the editor is closed.
            Choice::Editor(project) | Choice::Refused(Refusal::Away { project, .. }) => Ok(project),
            Choice::Refused(refusal) => Err(user_text::url_refused(&refusal)),
            Choice::Routed => Err("the URL names no editor".to_owned()),
        }
    }

    async fn look_around(self: &Arc<Self>) {
        let is_due = self.looked.borrow().as_ref().is_none_or(|(at, _)| at.elapsed() >= HTTP_LOOK_EVERY);
        if is_due && !std::mem::replace(&mut *enter(&self.looking), true) {
            self.parts.env.health.spawn("look", Arc::clone(self).look());
        }
        // While an editor runs, a later look can only add another one, and nobody waits for that.
        let is_known =
            |looked: &Option<_>| looked.is_some() && (!*enter(&self.looking) || !self.parts.links.running().is_empty());
        let _ = timeout(HTTP_LOOK_MAX, self.looked.subscribe().wait_for(is_known)).await;
    }

    fn schema(&self, project: Option<&Path>, tool: &str) -> Option<Box<RawValue>> {
        let link = match project {
            Some(project) => self.parts.links.find(project)?,
            None => match self.parts.links.running().as_slice() {
                [one] => self.parts.links.find(&one.project)?,
                _ => Arc::clone(self.posts.nowhere()),
            },
        };
        let published = link.tools.published.borrow();
        published.catalogue.find(tool).map(|entry| entry.tool.input_schema.raw().to_owned())
    }

    fn serve(&self, posting: Posting) -> Option<Conversation> {
        self.posts.serve(posting).ok()
    }
}
