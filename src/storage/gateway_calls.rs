//! The records of the sessions of one client each: `<state>/calls/<name>.jsonl`, and beside it a lock file that shows
//! whether the process lives. `<name>` is the session's own name. The next gateway that serves the same project takes
//! over the records of a killed one.
//!
//! A session on a hub has such files too, and nothing in them: the hub keeps the records. After the hub's end, the
//! session's lock tells a reader of the hub's records whether the session may still come with its requests.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::call_files::CallFile;
use super::hub_folder::{HubFolder, HubLock};
use crate::core::call_records::Left;
use crate::core::call_records::fate::{Asker, SetFacts, SetFate, fate_of_set};
use crate::limits::LEFTOVERS_AT_ONCE;
use crate::limits::hub::{LEFT_CALLS_MAX_AGE, OWN_RECORDS_RENEWED_MAX};
use crate::platform::host::{Host as _, RealHost, make_private_folder};
use crate::platform::lock_file::{self, Placed};

/// The records of this process, and the lock that shows that it lives.
#[derive(Debug)]
pub struct GatewayCalls {
    /// The records.
    pub file: Arc<CallFile>,
    lock: Mutex<File>,
    renewed: AtomicUsize,
    is_left: AtomicBool,
}

fn folder_of(state: &Path) -> PathBuf {
    state.join("calls")
}

fn lock_of(records: &Path) -> PathBuf {
    records.with_extension("lock")
}

impl GatewayCalls {
    /// Creates the records of this process. `name`: a name that no other process has.
    ///
    /// # Errors
    /// The system's error.
    pub fn create(state: &Path, name: &str) -> io::Result<Self> {
        let path = folder_of(state).join(format!("{name}.jsonl"));
        let (lock, placed) = lock_new(&path)?;
        let file = CallFile::open(&path, name.to_owned(), placed)?;
        Ok(Self {
            file: Arc::new(file),
            lock: Mutex::new(lock),
            renewed: AtomicUsize::new(0),
            is_left: AtomicBool::new(false),
        })
    }

    /// Makes new records of the open calls, because the former records are not this process's own any more. For
    /// example, their folder was removed, or restored from a backup. `name`: a name that no records had.
    ///
    /// # Errors
    /// The system's error, or this was done too often.
    pub fn renew(&self, name: &str) -> io::Result<()> {
        if self.renewed.fetch_add(1, Ordering::Relaxed) >= OWN_RECORDS_RENEWED_MAX {
            return Err(io::Error::other("the files were removed or replaced again and again"));
        }
        let path = self.file.path().with_file_name(format!("{name}.jsonl"));
        let (lock, placed) = lock_new(&path)?;
        self.file.move_to(path, placed)?;
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = lock;
        Ok(())
    }

    /// Leaves the lock file at the end of the process, as a killed process does. So a later gateway takes over the calls
    /// that this session made and that stand in the records of a killed hub.
    pub fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }

    /// Ends the records at the end of the process. The files stay if a later gateway needs them.
    pub fn end(&self) {
        if !self.is_left.load(Ordering::Relaxed) && self.file.is_empty() && self.file.owned().is_ok() {
            remove(&self.file.path());
        }
    }
}

/// Takes the lock for new records.
fn lock_new(records: &Path) -> io::Result<(File, Placed)> {
    make_private_folder(records.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let lock = lock_file::open(&lock_of(records), true)?;
    lock.try_lock()?;
    let placed = Placed::of(&lock, &lock_of(records))?;
    Ok((lock, placed))
}

/// Removes records and their lock file. The caller must hold the lock.
fn remove(records: &Path) {
    let _ = fs::remove_file(records);
    let _ = fs::remove_file(lock_of(records));
}

/// Finds out, from the lock of a session, whether its process lives.
pub fn asker(state: &Path, session: &str) -> Asker {
    // The name comes from another process, and becomes a part of a path.
    if session.is_empty() || !session.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        return Asker::Unknown;
    }
    let path = lock_of(&folder_of(state).join(format!("{session}.jsonl")));
    // The lock file is not created here: a missing lock says nothing about its session.
    let Ok(lock) = lock_file::open(&path, false) else { return Asker::Unknown };
    match lock.try_lock() {
        Ok(()) if lock_file::is_at(&lock, &path) => Asker::Killed,
        Err(TryLockError::WouldBlock) => Asker::Lives,
        Ok(()) | Err(TryLockError::Error(_)) => Asker::Unknown,
    }
}

/// For whom calls are taken over.
#[derive(Debug, Clone, Copy)]
pub struct Taker<'a> {
    /// The state folder.
    pub state: &'a Path,
    /// The records into which the calls are taken.
    pub own: &'a CallFile,
    /// The project of the editor that the calls were sent to.
    pub project: &'a Path,
    /// The client that made the calls; `None` for all clients.
    pub client: Option<&'a str>,
}

impl Taker<'_> {
    fn is_for(&self, left: &Left) -> bool {
        left.is_for(self.project, self.client)
    }

    /// Moves a call from another file into the own records. Returns whether it was not there yet.
    fn takes(&self, from: &CallFile, left: &Left) -> bool {
        // A record that cannot be written to the own records stays where it is. It is deleted there only afterwards. If
        // the process is killed in between, both files have the record, and a gateway that takes over from both takes
        // it once.
        let taken = self.own.take_in(left);
        if taken.is_ok() {
            from.forget(left.sent.call);
        }
        taken.is_ok_and(|is_new| is_new)
    }
}

/// Moves the calls to this project's editor that dead gateways left into the taker's own records. Returns these calls,
/// and whether other gateways live. Looks at most into [`LEFTOVERS_AT_ONCE`] files.
pub fn take_over(by: Taker<'_>) -> (Vec<Left>, bool) {
    let files = RealHost.list(&folder_of(by.state)).unwrap_or_default();
    let mut records: Vec<(PathBuf, SystemTime)> =
        files.into_iter().filter(|(path, _)| path.extension().is_some_and(|extension| extension == "jsonl")).collect();
    let own_path = by.own.path();
    records.retain(|(path, _)| *path != own_path);
    records.sort();
    let named = if records.is_empty() { Some(BTreeSet::new()) } else { named_by_a_hub(&by) };
    let (mut taken, mut others_live) = (Vec::new(), false);
    for (path, changed) in records.into_iter().take(LEFTOVERS_AT_ONCE) {
        let lock = lock_dead(&path);
        let seen = SetFacts {
            is_free: lock.is_some(),
            age: RealHost.now().duration_since(changed).unwrap_or_default(),
            bytes: path.symlink_metadata().map_or(0, |meta| meta.len()),
            is_copy: false,
        };
        // As long as a hub's records have a call of the session, the session's lock must stay: it shows that the
        // session was killed.
        let name = path.file_stem().and_then(|name| name.to_str());
        let is_named = named.as_ref().is_none_or(|named| name.is_some_and(|name| named.contains(name)));
        match fate_of_set(seen) {
            SetFate::Lives => {
                others_live = true;
                continue;
            }
            SetFate::Removed => {
                if !is_named {
                    remove(&path);
                }
                continue;
            }
            SetFate::Stays => continue,
            SetFate::TakenOver => {}
        }
        let Ok(file) = CallFile::reopen(&path) else { continue };
        if fate_of_set(SetFacts { is_copy: file.is_copy, ..seen }) != SetFate::TakenOver {
            continue;
        }
        file.tidy(Duration::ZERO, LEFT_CALLS_MAX_AGE);
        for left in file.left().into_iter().filter(|left| by.is_for(left)) {
            if by.takes(&file, &left) {
                taken.push(left);
            }
        }
        if file.is_empty() && !is_named {
            drop(file);
            remove(&path);
        }
    }
    (taken, others_live)
}

/// Returns the sessions that have calls in the records of a hub. `None` if that is not known, because another process
/// writes the records anew.
fn named_by_a_hub(by: &Taker<'_>) -> Option<BTreeSet<Arc<str>>> {
    let records = HubFolder::of(by.state).records();
    let left = match by.own.path() == records {
        true => by.own.left(),
        false => CallFile::read_if_there(&records).ok()?.map(|file| file.left()).unwrap_or_default(),
    };
    Some(left.into_iter().map(|left| left.sent.origin.session).collect())
}

/// Moves the calls to this project's editor that an ended hub left into the taker's own records. Returns these calls,
/// and whether the hub lives, or a session that may want them. `session`: the own session. This process holds its lock,
/// so that lock says nothing about it.
///
/// The holder of the hub's lock owns the records. A gateway that is no hub holds the lock only while it takes calls
/// out.
pub fn take_over_from_hub(by: Taker<'_>, session: Option<&str>) -> (Vec<Left>, bool) {
    let folder = HubFolder::of(by.state);
    match folder.hub_lock() {
        HubLock::Free => {}
        HubLock::Held => return (Vec::new(), true),
        HubLock::Unknown(_) => return (Vec::new(), false),
    }
    let mut others_live = false;
    let mut is_wanted = |left: &Left| {
        if !by.is_for(left) {
            return false;
        }
        let asker = &*left.sent.origin.session;
        // Open requests of the own session stay for `follow`. Only what was delivered is taken here.
        let asker = if session == Some(asker) { Asker::Unknown } else { self::asker(by.state, asker) };
        others_live |= asker == Asker::Lives;
        left.is_left_behind(asker)
    };
    // The records are read without the lock first: mostly there are none.
    match CallFile::read_if_there(&folder.records()) {
        Ok(file) if file.as_ref().is_some_and(|file| file.left().iter().any(&mut is_wanted)) => {}
        Ok(_) => return (Vec::new(), others_live),
        // Another process writes the records anew.
        Err(_) => return (Vec::new(), true),
    }
    let visited = visit(&folder, |file| {
        let left = file.left().into_iter().filter(&mut is_wanted);
        left.filter(|left| by.takes(file, left)).collect()
    });
    visited.map_or((Vec::new(), true), |taken| (taken, others_live))
}

/// Moves the open requests of a session that goes on without a hub from its former hub's records into its own. Deletes
/// its other records there, because they have been answered. `open`: the numbers of the requests for which its client
/// waits. Returns false if it must be tried again, because a hub may live, which has the records then.
pub fn follow(state: &Path, own: &CallFile, session: &str, open: &BTreeSet<u64>) -> bool {
    let is_own = |left: &Left| !left.delivered && *left.sent.origin.session == *session;
    let folder = HubFolder::of(state);
    match CallFile::read_if_there(&folder.records()) {
        Ok(file) if file.as_ref().is_some_and(|file| file.left().iter().any(is_own)) => {}
        Ok(_) => return true,
        Err(_) => return false,
    }
    let visited = visit(&folder, |file| {
        for left in file.left().into_iter().filter(is_own) {
            if left.told {
                // The client has the answer "still running", or gets it now, and will ask by the call's id. What is marked
                // as delivered is taken out by `take_over_from_hub`.
                file.delivered(left.sent.origin);
            } else if !open.contains(&left.sent.origin.number) || own.take_in(&left).is_ok() {
                file.forget(left.sent.call);
            }
        }
    });
    visited.is_some()
}

/// Notes, in the records of a hub that has ended, that the client of a session has all answers. The session has ended
/// too, and told its client what was known of the open calls. The client may ask for them by their ids. If a hub lives,
/// it knows all this itself. Returns false if it must be tried again, because another process has the records for a
/// moment.
pub fn conclude(state: &Path, session: &str) -> bool {
    if HubFolder::of(state).running().is_some() {
        return true;
    }
    match is_open_at_a_hub(state, session) {
        Some(false) => return true,
        Some(true) => {}
        None => return false,
    }
    let visited = visit(&HubFolder::of(state), |file| {
        for left in file.left().into_iter().filter(|left| !left.delivered && *left.sent.origin.session == *session) {
            file.told(left.sent.call);
        }
    });
    visited.is_some()
}

/// Whether the records of a hub have a call of this session whose client has no answer. `None` if that is not known.
fn is_open_at_a_hub(state: &Path, session: &str) -> Option<bool> {
    let records = CallFile::read_if_there(&HubFolder::of(state).records()).ok()?;
    let is_open = |left: &Left| !left.delivered && *left.sent.origin.session == *session;
    Some(records.is_some_and(|file| file.left().iter().any(is_open)))
}

/// Whether a session that ends must look like one that was killed. That is so if its hub has ended with calls whose
/// client has no answer: only the next gateway can tell that client of them.
pub fn is_owed(state: &Path, session: &str) -> bool {
    let is_open = is_open_at_a_hub(state, session).unwrap_or(true);
    is_open && !matches!(HubFolder::of(state).hub_lock(), HubLock::Held)
}

/// Takes over the records of a hub that has ended, while `takes` runs. `None` if another process has them.
fn visit<T>(folder: &HubFolder, takes: impl FnOnce(&CallFile) -> T) -> Option<T> {
    let elected = folder.elect().ok()??;
    // Removes the file in which the ended hub names itself: nobody may take this process for that hub.
    elected.unpublish();
    // If the records are a copy, the hub that wrote them may live, with all its sessions.
    if CallFile::read(&folder.records()).ok()?.is_copy {
        return None;
    }
    let file = CallFile::visit(&folder.records(), elected.lock_placed().ok()?).ok()?;
    let taken = takes(&file);
    // Records that were taken out are removed from the disk.
    file.tidy(Duration::ZERO, Duration::MAX);
    Some(taken)
}

/// Takes the lock of records whose process is dead. `None` if it lives, or if that cannot be decided.
fn lock_dead(records: &Path) -> Option<File> {
    // A missing lock file is created, because records may be removed only while their lock is held.
    let lock = lock_file::open(&lock_of(records), true).ok()?;
    lock.try_lock().ok()?;
    lock_file::is_at(&lock, &lock_of(records)).then_some(lock)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::core::call_records::{Origin, SentCall};
    use crate::protocol::ids::CallId;

    /// Leaves the records of a gateway of client A that was killed so long ago. `told`: which of its calls A asks for by their ids.
    fn left(state: &Path, ago: Duration, told: [bool; 2]) {
        let killed = GatewayCalls::create(state, "killed").unwrap();
        for (number, told) in (1..).zip(told) {
            let call = CallId::from_random([number; 16]);
            let origin = Origin { session: "s".into(), number: number.into() };
            let (tool, project) = (Arc::from("count"), Some(Path::new("/Castle").into()));
            let client = ("A".into(), "1".into());
            let sent = SentCall { origin, call, tool, project, journal: None, repeatable: false, client };
            killed.file.sent(sent).unwrap();
            if told {
                killed.file.told(call);
            }
        }
        File::options().write(true).open(killed.file.path()).unwrap().set_modified(RealHost.now() - ago).unwrap();
    }

    fn take_over_as(state: &Path, own: &CallFile, client: &str) -> Vec<Left> {
        take_over(Taker { state, own, project: Path::new("/Castle"), client: Some(client) }).0
    }

    fn taken(state: &Path, client: &str) -> Vec<bool> {
        let own = GatewayCalls::create(state, client).unwrap();
        let taken = take_over_as(state, &own.file, client);
        own.end();
        taken.iter().map(|left| left.told).collect()
    }

    #[test]
    fn what_a_client_left_stays_for_that_client() {
        let state = tempfile::tempdir().unwrap();
        left(state.path(), Duration::from_secs(60), [true, false]);
        assert!(taken(state.path(), "B").is_empty());
        left(state.path(), LEFT_CALLS_MAX_AGE / 2, [true, false]);
        assert!(taken(state.path(), "B").is_empty(), "A may come back after a weekend");
        assert_eq!(taken(state.path(), "A"), [true, false]);
    }

    #[test]
    fn an_answer_that_nobody_got_is_kept_while_its_gateway_lives() {
        let state = tempfile::tempdir().unwrap();
        let own = GatewayCalls::create(state.path(), "own").unwrap();
        left(state.path(), Duration::from_secs(1), [false, false]);
        let taken = take_over_as(state.path(), &own.file, "A");
        own.file.answered(taken[0].sent.call, "[]", (false, false));
        own.file.tidy(Duration::from_secs(3600), LEFT_CALLS_MAX_AGE);
        assert_eq!(own.file.left().len(), 2);
        own.file.tidy(LEFT_CALLS_MAX_AGE, LEFT_CALLS_MAX_AGE);
        assert_eq!(own.file.left().len(), 1, "what is open stays");
    }
}
