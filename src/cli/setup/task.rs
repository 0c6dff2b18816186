//! The change of one client's configuration, and what is said about it.

use std::path::{Path, PathBuf};

use holdfast_client_config::{
    Aim, ChangeError, Client, Done, ENTRY_NAME, Endpoint, Launch, Places, Plan, Standing, State, Token, Wish, Written,
    files, make, snippet, without_tokens,
};

use super::arguments::{SetupArgs, Shared, complain};
use super::diff::diff;
use super::http::OverHttp;
use super::standing::{self, fix_of_old, of_old, says_of_old, title};
use crate::cli::output::{Tone, row, toned};
use crate::cli::{Exit, output};
use crate::config;
use crate::core::user_text::quoted;
use crate::platform::filesystem;
use crate::protocol::text::clean;

pub(super) struct Task<'a> {
    pub client: &'static Client,
    pub places: &'a Places,
    pub launch: &'a Launch,
    pub wish: Wish<'a>,
    /// The URL that the entry connects to; `None` if the entry starts this program.
    pub over_http: Option<&'a OverHttp>,
    /// The form of an entry for everybody in the project; `None` if it is for this machine.
    pub shared: Option<Shared>,
}

impl Task<'_> {
    pub fn run(&self, arguments: &SetupArgs) -> Result<Exit, (Exit, String)> {
        let client = self.client;
        let files = files(client, self.places, self.wish);
        let file = files.first().ok_or_else(|| {
            (Exit::Usage, format!("where {} keeps its configuration on this system is not known", title(client)))
        })?;
        let of_project = self.places.of_project(client);
        if self.shared.is_some() && !of_project {
            let why = format!(
                "{} has no file in a project that a team could share; everybody runs `holdfast setup {}`",
                title(client),
                client.name
            );
            return Err((Exit::Failed, why));
        }
        let absent = file.symlink_metadata().is_err() && self.places.sign(client).is_none();
        if absent && !of_project && !arguments.create && self.wish.aim().is_some() {
            let why = format!(
                "{} is not found here ({} does not exist). Start it once, or create the file anyway with --create",
                title(client),
                file.display()
            );
            return Err((Exit::Failed, why));
        }
        let one = |file: &PathBuf| {
            let done = if arguments.dry_run { self.show(file) } else { self.make(file) };
            done.unwrap_or_else(|refusal| self.refused(&refusal))
        };
        Ok(files.iter().map(one).fold(Exit::Ok, |worst, exit| if worst == Exit::Ok { exit } else { worst }))
    }

    fn show(&self, file: &Path) -> Result<Exit, ChangeError> {
        let plan = Plan::of(self.client, file, self.places, self.wish)?;
        if plan.changes() {
            let files = [plan.before().unwrap_or_default(), plan.after().unwrap_or_default()];
            output::bytes(without_tokens(self.client, &diff(&plan), &files).as_bytes());
        } else {
            output::hung("", &self.already(plan.path()));
        }
        tell_of_mark(&plan);
        self.tell_of_old(&plan);
        Ok(Exit::Ok)
    }

    fn make(&self, file: &Path) -> Result<Exit, ChangeError> {
        let (plan, done) = make(self.client, file, self.places, self.wish)?;
        self.report(plan.path(), &done);
        tell_of_mark(&plan);
        if let (Wish::Lack, Done::Already) = (self.wish, &done) {
            self.tell_of_entry_in_project();
        }
        if let (Wish::Replace(_), true) = (self.wish, done != Done::Already) {
            for old in &plan.old {
                row(
                    "out",
                    &clean(&format!("entry \"{}\", which started {}: the server of {}", old.key, old.starts, old.of)),
                );
            }
        }
        self.tell_of_old(&plan);
        Ok(Exit::Ok)
    }

    /// Names the entries of old servers that remain: in this file, and in the client's file of the project around the working
    /// directory.
    fn tell_of_old(&self, plan: &Plan) {
        if self.wish.aim().is_none() {
            return;
        }
        let own = self.places.project.as_ref().filter(|_| self.places.of_project(self.client));
        let option = own.map(|project| format!(" --project {}", quoted(project))).unwrap_or_default();
        if let Wish::Have(_) = self.wish {
            for old in &plan.old {
                row(
                    "note",
                    &clean(&format!("{}; `{}` takes it out", says_of_old(old, true), fix_of_old(self.client, &option))),
                );
            }
        }
        let around = std::env::current_dir().ok().and_then(|here| config::named_project(&here).ok());
        let Some(project) = around.filter(|_| own.is_none()) else { return };
        let beside = standing::of_project(&project, self.places.clone(), Path::new(&self.launch.program));
        for standing in beside.iter().filter(|one| one.client.name == self.client.name) {
            for (says, fix) in of_old(standing, true) {
                row("note", &clean(&format!("{says}; `{fix}` takes it out")));
            }
        }
    }

    /// Says that there is an entry in the client's file of the project around the working directory, if that file was not meant.
    fn tell_of_entry_in_project(&self) {
        let around = std::env::current_dir().ok().and_then(|here| config::named_project(&here).ok());
        let Some(project) = around.filter(|_| !self.places.of_project(self.client)) else { return };
        let beside = standing::of_project(&project, self.places.clone(), Path::new(&self.launch.program));
        let has_entry =
            |one: &&Standing| one.client.name == self.client.name && !matches!(one.state, State::NotConfigured);
        if let Some(one) = beside.iter().find(has_entry) {
            let (name, project) = (self.client.name, quoted(&project));
            row(
                "note",
                &clean(&format!(
                    "{} has one; `holdfast setup {name} --remove --project {project}` takes it out",
                    one.file.display()
                )),
            );
        }
    }

    fn refused(&self, refusal: &ChangeError) -> Exit {
        complain("setup", Exit::Failed, &refusal.to_string());
        if let Some(aim) = self.wish.aim() {
            let keys = self.client.keys.join(".");
            output::complain(&format!("Add this to the file by hand, and keep what is already under {keys}:"));
            let snippet = snippet(self.client, aim);
            output::bytes(without_tokens(self.client, &snippet, &[&snippet]).as_bytes());
        }
        Exit::Failed
    }

    fn already(&self, path: &Path) -> String {
        match self.wish {
            Wish::Have(_) | Wish::Replace(_) => {
                format!("{} is already set up, in {}. Nothing to change.", title(self.client), path.display())
            }
            Wish::Lack => format!("{} has no entry \"{}\". Nothing to change.", path.display(), ENTRY_NAME),
        }
    }

    fn report(&self, file: &Path, done: &Done) {
        let (title, path) = (title(self.client), file.display());
        match (self.wish, done) {
            (_, Done::Already) => output::hung("", &self.already(file)),
            (Wish::Have(aim) | Wish::Replace(aim), _) => {
                output::line(&toned(&format!("{title} is set up."), Tone::Good));
                match aim {
                    Aim::Start(launch) => {
                        let words: Vec<&str> =
                            std::iter::once(&launch.program).chain(&launch.args).map(String::as_str).collect();
                        row("starts", &words.join(" "));
                    }
                    Aim::Connect(endpoint) => row("asks", &endpoint.url),
                }
                row("file", &format!("{path}, entry \"{ENTRY_NAME}\""));
                row("scope", &self.scope());
            }
            (Wish::Lack, Done::Restored) => {
                output::hung("", &format!("{title} no longer starts holdfast. {path} is as it was before."));
            }
            (Wish::Lack, Done::Deleted) => {
                output::hung("", &format!("{title} no longer starts holdfast. {path} held nothing else and is gone."));
            }
            (Wish::Lack, Done::Wrote(_)) => {
                output::hung("", &format!("{title} no longer starts holdfast. The rest of {path} is as it was."));
            }
        }
        match done {
            Done::Wrote(Written::BackedUp(backup)) => row("before", &backup.display().to_string()),
            Done::Wrote(Written::EarlierBackup(backup)) => {
                row("before", &format!("{}, from the first change; it is kept as it is", backup.display()));
            }
            Done::Wrote(Written::New) => row("before", "there was no file"),
            Done::Wrote(Written::Renewed) | Done::Already | Done::Restored | Done::Deleted => {}
        }
        match self.wish.aim() {
            Some(aim) if *done == Done::Already => self.tell_who_may_read(file, aim),
            Some(Aim::Start(launch)) => self.say_what_follows(launch),
            Some(Aim::Connect(endpoint)) => self.say_what_follows_over_http(file, endpoint),
            None => {}
        }
    }

    fn scope(&self) -> String {
        let (name, project) = (self.client.name, self.places.project.as_ref());
        match project {
            Some(project) if self.places.of_project(self.client) => format!("this project only: {}", project.display()),
            Some(_) => format!("every project that you open in {}: it has no file for one project", title(self.client)),
            None if self.client.project.is_empty() => "every project that you open".to_owned(),
            None => format!("every project that you open; for this one only: holdfast setup {name} --project"),
        }
    }

    fn say_what_follows_over_http(&self, file: &Path, endpoint: &Endpoint) {
        if let Some(over_http) = self.over_http {
            row("token", &over_http.how(&endpoint.token));
        }
        row("next", self.client.afterwards);
        if self.shared.is_some() {
            row("team", "the entry has no token and names no path of this machine: commit the file");
            row(
                "needs",
                "everybody needs a hub at this address (`holdfast hub --http`), and its token in the variable",
            );
        } else if self.places.of_project(self.client) {
            row(
                "note",
                &format!(
                    "the URL may name a path of this machine; `holdfast setup {} --http --shared` writes an entry for a team",
                    self.client.name
                ),
            );
        }
        self.tell_who_may_read(file, Aim::Connect(endpoint));
    }

    /// Says if others may read the token in a file. The file is written as private, but it may be older, or belong to
    /// another user.
    fn tell_who_may_read(&self, file: &Path, aim: Aim<'_>) {
        if matches!(aim, Aim::Connect(Endpoint { token: Token::Text(_), .. })) && filesystem::others_may_read(file) {
            row("note", &format!("other users of this machine may read the token: chmod 600 {}", quoted(file)));
        }
    }

    fn say_what_follows(&self, launch: &Launch) {
        let title = title(self.client);
        row("next", self.client.afterwards);
        if let Some(shared) = self.shared {
            row("team", "the entry names no path of this machine: commit the file");
            row("needs", shared.needs());
            if !self.client.tells_project {
                row("note", &format!("{title} may not tell its servers which project is open"));
            }
        } else if self.places.of_project(self.client) {
            row(
                "note",
                &format!(
                    "the entry holds paths of this machine: do not commit it; `holdfast setup {} --shared` writes one for a team",
                    self.client.name
                ),
            );
        }
        if self.shared.is_some() {
            return;
        }
        if self.places.project.is_some() && !self.places.of_project(self.client) {
            row("note", "the entry names this project, so it is for this project in every window");
        } else if self.places.project.is_some() && launch.args.is_empty() {
            row(
                "note",
                "the folder is in no Unity project, so the entry names none: the client has to tell which one is open",
            );
        } else if !self.client.tells_project && launch.args.is_empty() {
            row(
                "note",
                &format!(
                    "{title} may not tell its servers which project is open; if no tools of Unity appear, name it: `holdfast setup {} --project DIR`",
                    self.client.name
                ),
            );
        }
    }
}

/// Says that the change takes a byte order mark away. A diff does not show it.
fn tell_of_mark(plan: &Plan) {
    if plan.loses_mark() {
        row("note", "the file began with a byte order mark, which some clients cannot read: it is taken away");
    }
}

#[cfg(test)]
mod tests {
    use holdfast_client_config::{System, named};

    use super::super::program::DISK;

    use super::*;

    /// On such a Windows machine, holdfast was set up before Claude Desktop was installed as a package.
    #[test]
    fn remove_takes_the_entry_out_of_the_file_that_the_client_read_before_too() {
        let folder = tempfile::tempdir().unwrap();
        let variable = |_: &str| Some(folder.path().into());
        let places = Places::of(System::Windows, variable, DISK).unwrap();
        let client = named("claude-desktop").unwrap();
        let former = folder.path().join("Claude/claude_desktop_config.json");
        let read =
            folder.path().join("Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json");
        let entry = |text: &str| text.replace("ENTRY", r#", "holdfast": {"command": "/opt/holdfast", "args": []}"#);
        for file in [&former, &read] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        }
        let launch = Launch { program: "/opt/holdfast".to_owned(), args: Vec::new(), whole: false, flag: None };
        let arguments = |dry_run| SetupArgs { dry_run, remove: true, ..SetupArgs::default() };
        let task = Task { client, places: &places, launch: &launch, wish: Wish::Lack, over_http: None, shared: None };
        const TEXT: &str = r#"{"mcpServers": {"other": {"command": "other"}ENTRY}}"#;
        for there in [&[&former][..], &[&former, &read]] {
            let held = |expected: &str| there.iter().all(|file| std::fs::read_to_string(file).unwrap() == expected);
            for file in there {
                std::fs::write(file, entry(TEXT)).unwrap();
            }
            assert!(task.run(&arguments(true)).is_ok_and(|exit| exit == Exit::Ok) && held(&entry(TEXT)));
            assert!(task.run(&arguments(false)).is_ok_and(|exit| exit == Exit::Ok) && held(&TEXT.replace("ENTRY", "")));
        }
    }
}
