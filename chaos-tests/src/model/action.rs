//! The events that can happen next in the model, and what each costs of the budget of faults.

use holdfast::fsm::bridge::{State, Timer};

use super::journal::Status;
use super::line::{Frame, Line, Message, Task};
use super::records::Harm;
use super::seam::name;
use super::setting::{Broken, Kind, Setting};
use super::world::{Bridge, Editor, Stage, World};

/// The largest number of questions for outcomes that may be open at once: enough to ask again while the first is unanswered.
const QUESTIONS_MAX: usize = 2;

/// Who comes after a hub that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Next {
    /// Another hub, which has the whole records.
    Hub,
    /// A gateway without a hub, which takes out of the records what is for its client.
    Gateway,
}

/// One event of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The client makes a call.
    Call(u8),
    /// The client cancels a call.
    Cancel(u8),
    /// The next deadline of the ledger passes.
    Elapse,
    /// The bridge receives the next event of its connection.
    Hear,
    /// The bridge receives `CallsWaiting`.
    Wake,
    /// The bridge receives the order to stop.
    HearStop,
    /// A timer of the bridge fires.
    Fire(Timer),
    /// The editor is silent for so long that it means something new.
    Quiet(u8),
    /// Discovery answers the bridge.
    Offer,
    /// The registry asks for a list.
    AskList,
    /// A task has waited too long for the permit that one connection at a time may have.
    NoPermit(u8),
    /// A task has the permit, and its connect succeeds.
    Connect(u8),
    /// A task's connect fails.
    Refuse(u8),
    /// A task receives the order to send a call, and reserves the next held call.
    Take(u8),
    /// A task claims the call that it has prepared.
    Claim(u8),
    /// A task claims the call that it has prepared after the call's limit of holding has passed.
    ClaimLate(u8),
    /// A task finds that the call that it has prepared can never be sent.
    Unsendable(u8),
    /// All bytes of a claimed call are written.
    Write(u8),
    /// No byte of a claimed call could be written; the connection ends.
    WriteNothing(u8),
    /// Some bytes of a claimed call are written, and then the connection ends.
    Tear(u8),
    /// A task reads the next frame.
    Read(u8),
    /// A task reads the end of the stream.
    End(u8),
    /// The connection breaks: messages on their way to the gateway are lost.
    Break(u8),
    /// The task of a connection that was hung up ends.
    Fall(u8),
    /// The editor reads the next call. It runs the call at once, or queues it where it has a journal.
    EditorTakes(u8),
    /// Another program answers the greeting.
    Misgreet(u8),
    /// The editor answers the call that it ran, and the task reads the answer.
    EditorReplies(u8),
    /// The editor answers that the call is meant for another editor, and runs nothing.
    EditorTurnsAway(u8),
    /// The editor sends two answers to the call that it ran.
    EditorRepeats(u8),
    /// The editor answers that it already has the call, and that the call is running.
    EditorDoubles(u8),
    /// The editor announces a reload.
    EditorAnnounces(u8),
    /// The editor announces that it quits, and then its process ends.
    EditorQuits(u8),
    /// The editor runs a call that it had read from a connection that the gateway has closed.
    RunAdrift(u8),
    /// The editor begins a reload, and its sockets close.
    Reload,
    /// The editor's process dies.
    Crash,
    /// The editor forgets its jobs, and no connection shows it: a reload between two requests.
    Forget,
    /// The editor's main thread hangs.
    Freeze,
    /// The editor works again.
    ComeBack,
    /// The editor answers the call that it ran. The connection breaks, and the network keeps the answer for later delivery.
    Keep(u8),
    /// The network delivers the kept answer on another connection.
    Misdeliver(u8),
    /// The task is ordered to ask for outcomes.
    Ask(u8),
    /// The question for outcomes was not answered in time, and is asked again.
    AskAnew(u8),
    /// The editor refuses a call because it is about to reload or quit.
    EditorPostpones(u8),
    /// A queued call begins to run.
    Begins(u8),
    /// A running call ends, and no connection is left to answer it on.
    Ends(u8),
    /// The editor reads a call from a connection that the gateway has closed.
    ReadLate(u8),
    /// A result file gives the outcome of a call.
    Learn(u8),
    /// The list has arrived, and the registry crashes before it stores the list.
    LoseList(u8),
    /// The registry crashes.
    RegistryCrashes,
    /// The bridge's actor crashes.
    BridgeCrashes,
    /// The supervisor cleans up after the ended bridge: the calls that it had sent get their verdicts or are held again.
    Settle,
    /// The supervisor starts the bridge's successor.
    Succeed,
    /// The successor is registered under the bridge's address.
    Enlist,
    /// The gateway begins to end.
    Drain,
    /// The bridge is ordered to stop.
    TellStop,
    /// The supervision tree is ended.
    TakeDown,
    /// No part of the gateway is left; open calls get their verdicts.
    Finish,
    /// The hub is killed or has made way, and its successor starts.
    HubEnds(Harm),
    /// The hub and its session are killed together, and the client starts another session.
    BothKilled(Next),
    /// The hub makes way: it gives back what it has not sent, and takes nothing new.
    HubLeaves,
    /// The process of the session stands still for longer than answers are kept.
    StandStill,
    /// The session brings a request to the successor.
    Bring(u8),
    /// The session reads the hub's next answer.
    Deliver,
}

/// Describes an event for a person who reads a failed check: who did what.
pub fn describe(world: &World, action: Action) -> String {
    let (index, what) = match action {
        Action::Call(call) => return format!("the client calls {}", name(call)),
        Action::Cancel(call) => return format!("the client cancels {}", name(call)),
        Action::Learn(call) => return format!("a file tells the outcome of {}", name(call)),
        Action::RunAdrift(call) => return format!("the editor runs {} from a socket left behind", name(call)),
        Action::Begins(call) => return format!("a sending of {} begins", name(call)),
        Action::Ends(call) => return format!("a sending of {} ends, for nobody", name(call)),
        Action::ReadLate(_) => return "the editor reads a call from a socket left behind".to_owned(),
        Action::Fire(timer) => return format!("the bridge's timer fires: {timer:?}"),
        Action::Elapse => return "the next deadline of the ledger passes".to_owned(),
        Action::Hear => return news(world),
        Action::Wake => return "the bridge hears that calls wait".to_owned(),
        Action::HearStop => return "the bridge hears that it is to stop".to_owned(),
        Action::Offer => return "discovery answers".to_owned(),
        Action::AskList => return "the registry asks for a list".to_owned(),
        Action::Reload => return "the editor reloads".to_owned(),
        Action::Crash => return "the editor's process dies".to_owned(),
        Action::Forget => return "the editor forgets its jobs".to_owned(),
        Action::Freeze => return "the editor hangs".to_owned(),
        Action::ComeBack => return "the editor is back".to_owned(),
        Action::RegistryCrashes => return "the registry crashes".to_owned(),
        Action::BridgeCrashes => return "the bridge crashes".to_owned(),
        Action::Settle => return "what the bridge held is settled".to_owned(),
        Action::Succeed => return "the bridge's successor starts".to_owned(),
        Action::Enlist => return "the bridge is found under its address".to_owned(),
        Action::Drain => return "the gateway begins to end".to_owned(),
        Action::TellStop => return "the bridge is told to stop".to_owned(),
        Action::TakeDown => return "the tree is taken down".to_owned(),
        Action::Finish => return "what is left is settled".to_owned(),
        Action::HubEnds(Harm::None) => return "the hub is killed, and another one starts".to_owned(),
        Action::HubEnds(Harm::Line(line)) => {
            return format!("the hub is killed, and line {line} of its records damaged");
        }
        Action::HubEnds(Harm::Lost) => return "the hub is killed, and its records are lost".to_owned(),
        Action::BothKilled(Next::Hub) => {
            return "the hub and its session are killed, and another hub starts".to_owned();
        }
        Action::BothKilled(Next::Gateway) => {
            return "the hub and its session are killed, and a gateway without a hub starts".to_owned();
        }
        Action::HubLeaves => return "the hub makes way".to_owned(),
        Action::StandStill => return "the session stands still for long".to_owned(),
        Action::Bring(call) => return format!("the session brings {} to the hub", name(call)),
        Action::Deliver => return "the session reads an answer of the hub".to_owned(),
        Action::NoPermit(index) => (index, "waited too long for the permit"),
        Action::Quiet(index) => (index, "is silent"),
        Action::Ask(index) => (index, "is to ask what became of calls"),
        Action::AskAnew(index) => (index, "asks anew what became of calls"),
        Action::EditorPostpones(index) => (index, "the editor refuses the call: it is about to leave"),
        Action::Connect(index) => (index, "connects"),
        Action::Refuse(index) => (index, "is refused"),
        Action::Take(index) => (index, "reserves the next call"),
        Action::Claim(index) => (index, "claims the call"),
        Action::ClaimLate(index) => (index, "claims the call too late"),
        Action::Unsendable(index) => (index, "cannot send the call"),
        Action::Write(index) => (index, "writes the call"),
        Action::WriteNothing(index) => (index, "could not write a byte of the call"),
        Action::Tear(index) => (index, "wrote a part of the call"),
        Action::Read(index) => (index, "reads a frame"),
        Action::Misgreet(index) => (index, "is greeted wrongly"),
        Action::End(index) => (index, "reads the end of the stream"),
        Action::Break(index) => (index, "breaks"),
        Action::Fall(index) => (index, "falls"),
        Action::EditorTakes(index) => (index, "the editor runs the call"),
        Action::EditorTurnsAway(index) => (index, "the editor turns the call away"),
        Action::EditorReplies(index) => (index, "the editor's answer is read"),
        Action::EditorRepeats(index) => (index, "the editor answers twice"),
        Action::EditorDoubles(index) => (index, "the editor says that it has the call already"),
        Action::EditorAnnounces(index) => (index, "the editor announces a reload"),
        Action::EditorQuits(index) => (index, "the editor says goodbye"),
        Action::Keep(index) => (index, "breaks, and the network keeps the answer"),
        Action::LoseList(index) => (index, "its list is lost with the registry"),
        Action::Misdeliver(index) => (index, "the network delivers the answer it kept"),
    };
    let epoch = world.lines.get(usize::from(index)).map_or(0, Line::epoch);
    format!("connection {epoch}: {what}")
}

fn news(world: &World) -> String {
    let Some(news) = world.news.front() else { return String::new() };
    let event = format!("{:?}", news.event);
    format!("the bridge hears of {}: {}", news.epoch, event.split(" {").next().unwrap_or_default())
}

/// Returns what an action costs of the budget of faults: 0 for what happens in a healthy world and for what ends a fault,
/// otherwise 1.
pub fn cost(world: &World, action: Action) -> u8 {
    let healthy = world.editor == Editor::Up;
    let line = |index: u8| world.lines.get(usize::from(index));
    let dying = |index| line(index).is_some_and(|line| line.peer_gone || line.hung_up);
    let free = match action {
        Action::Call(_)
        | Action::Hear
        | Action::Wake
        | Action::HearStop
        | Action::Offer
        | Action::AskList
        | Action::Connect(_)
        | Action::Take(_)
        | Action::Claim(_)
        | Action::Write(_)
        | Action::Read(_)
        | Action::End(_)
        | Action::Fall(_)
        | Action::EditorTakes(_)
        | Action::EditorReplies(_)
        | Action::RunAdrift(_)
        | Action::ComeBack
        | Action::Misdeliver(_)
        | Action::Learn(_)
        | Action::Ask(_)
        | Action::AskAnew(_)
        | Action::Begins(_)
        | Action::Ends(_)
        | Action::ReadLate(_)
        | Action::Settle
        | Action::Succeed
        | Action::Enlist
        | Action::Drain
        | Action::TellStop
        | Action::TakeDown
        | Action::Finish
        | Action::Bring(_)
        | Action::Deliver => true,
        Action::Elapse => world.due || world.ledger.looks(),
        Action::HubEnds(harm) => world.leaving && harm == Harm::None,
        Action::Refuse(_) => !healthy,
        Action::WriteNothing(index) | Action::Tear(index) | Action::Break(index) => dying(index),
        Action::Fire(timer) => match timer {
            Timer::Leave | Timer::Drain => true,
            Timer::Liveness => world.editor == Editor::Dead,
            Timer::Retry => healthy,
            Timer::Seek | Timer::Hope | Timer::Greeting => false,
        },
        Action::Cancel(_)
        | Action::Quiet(_)
        | Action::NoPermit(_)
        | Action::ClaimLate(_)
        | Action::EditorDoubles(_)
        | Action::Unsendable(_)
        | Action::Misgreet(_)
        | Action::EditorRepeats(_)
        | Action::EditorTurnsAway(_)
        | Action::EditorPostpones(_)
        | Action::EditorAnnounces(_)
        | Action::EditorQuits(_)
        | Action::Reload
        | Action::Crash
        | Action::Forget
        | Action::Freeze
        | Action::Keep(_)
        | Action::LoseList(_)
        | Action::RegistryCrashes
        | Action::BridgeCrashes
        | Action::BothKilled(_)
        | Action::HubLeaves
        | Action::StandStill => false,
    };
    u8::from(!free)
}

/// Whether an action is a fault that loses a connection.
fn is_loss(action: Action) -> bool {
    matches!(
        action,
        Action::Break(_)
            | Action::Tear(_)
            | Action::WriteNothing(_)
            | Action::Keep(_)
            | Action::Reload
            | Action::Crash
            | Action::HubEnds(_)
            | Action::BothKilled(_)
            | Action::HubLeaves
            | Action::StandStill
    )
}

/// Adds to `out` every action that can happen in this state and that the budget of faults allows.
pub fn possible(world: &World, setting: &Setting, out: &mut Vec<Action>) {
    if world.stage == Stage::Ended {
        if !world.on_the_way.is_empty() {
            out.push(Action::Deliver);
        }
        return;
    }
    let first = out.len();
    client(world, setting, out);
    bridge(world, setting, out);
    for (index, line) in world.lines.iter().enumerate() {
        task(world, setting, u8::try_from(index).unwrap_or(u8::MAX), line, out);
    }
    editor(world, setting, out);
    hub(world, setting, out);
    journal(world, setting, out);
    end(world, setting, out);
    let all = out.split_off(first);
    let allowed = |action: &Action| match cost(world, *action) {
        0 => true,
        price => price <= world.faults && (!setting.losses_only || is_loss(*action)),
    };
    out.extend(all.into_iter().filter(allowed));
}

fn client(world: &World, setting: &Setting, out: &mut Vec<Action>) {
    for (call, kind) in (0u8..).zip(&setting.calls) {
        if !world.accepted(call) && world.stage <= Stage::Draining {
            // Calls are made in the order of their numbers: another order would differ only in names.
            if call == 0 || world.accepted(call - 1) {
                out.push(Action::Call(call));
            }
        } else if world.awaited(call) {
            out.push(Action::Cancel(call));
        }
        let ran = world.ghost.executions[usize::from(call)] > 0;
        if *kind == Kind::Reported && ran && world.ledger.looks_for(call) {
            out.push(Action::Learn(call));
        }
        if world.adrift[usize::from(call)] > 0 && world.editor == Editor::Up {
            out.push(Action::RunAdrift(call));
        }
    }
    if world.ledger.has_deadline() && world.stage < Stage::Falling {
        out.push(Action::Elapse);
    }
}

fn bridge(world: &World, setting: &Setting, out: &mut Vec<Action>) {
    match &world.bridge {
        Bridge::Alive(actor) => {
            if !world.news.is_empty() {
                out.push(Action::Hear);
            }
            if world.wakings > 0 {
                out.push(Action::Wake);
            }
            if world.stop_under_way {
                out.push(Action::HearStop);
            }
            // At most two connection tasks exist at once. What leads to a new connection (a retry, an offer) waits until an
            // old task has ended.
            let crowded = world.lines.len() > 1;
            for timer in actor.armed.iter() {
                let useful = match timer {
                    Timer::Retry => !crowded,
                    _ => true,
                };
                if useful {
                    out.push(Action::Fire(timer));
                }
            }
            if world.discovery_asked && actor.enlisted && actor.core.state() == State::Seeking && !crowded {
                out.push(Action::Offer);
            }
            if world.registry_asks && actor.enlisted {
                out.push(Action::AskList);
            }
            if !actor.enlisted {
                out.push(Action::Enlist);
            }
            if setting.crashes {
                out.push(Action::BridgeCrashes);
                if world.linked.is_some() {
                    out.push(Action::RegistryCrashes);
                }
            }
        }
        Bridge::Crashed => {
            out.push(Action::Settle);
            if setting.broken == Broken::SuccessorTooEarly {
                out.push(Action::Succeed);
            }
        }
        Bridge::Settled if world.lines.is_empty() && world.stage < Stage::Falling => out.push(Action::Succeed),
        Bridge::Settled => {}
    }
}

fn task(world: &World, setting: &Setting, index: u8, line: &Line, out: &mut Vec<Action>) {
    if line.hung_up && setting.broken != Broken::PermitLeaks {
        out.push(Action::Fall(index));
    }
    if line.open {
        return open(world, setting, index, line, out);
    }
    let rivals = world.lines.iter().any(|other| other.open);
    if rivals && setting.broken != Broken::DialsWithoutPermit {
        out.push(Action::NoPermit(index));
        return;
    }
    if world.editor == Editor::Up {
        out.push(Action::Connect(index));
    }
    if world.editor != Editor::Frozen {
        out.push(Action::Refuse(index));
    }
}

fn open(world: &World, setting: &Setting, index: u8, line: &Line, out: &mut Vec<Action>) {
    match line.task {
        Task::Writing(_) => out.extend([Action::Write(index), Action::WriteNothing(index), Action::Tear(index)]),
        Task::Holding(_) => out.extend([Action::Claim(index), Action::ClaimLate(index), Action::Unsendable(index)]),
        Task::Idle if line.is_to_call && line.is_free(setting) => out.push(Action::Take(index)),
        Task::Idle => {}
    }
    // One by one, nothing is read while a request is prepared or written.
    let reads = !setting.one_by_one() || line.task == Task::Idle;
    if let Some(frame) = line.back.front().filter(|_| reads) {
        out.push(Action::Read(index));
        if *frame == Frame::Greeting {
            out.push(Action::Misgreet(index));
        }
        if *frame == Frame::List && setting.crashes {
            out.push(Action::LoseList(index));
        }
    } else if line.peer_gone && reads {
        out.push(Action::End(index));
    }
    if line.exchange.deadline().is_some() {
        out.push(Action::Quiet(index));
    }
    if !line.hung_up {
        out.push(Action::Break(index));
        let greeted = line.exchange.met().is_some();
        let seeks = world.ledger.looks() || !line.exchange.jobs.is_empty();
        if greeted && setting.is_asked() && seeks && line.exchange.peek().is_none() {
            let questions = line.asked.len() + line.answers.len();
            match questions {
                0 => out.push(Action::Ask(index)),
                _ if questions < QUESTIONS_MAX && !setting.one_by_one() => out.push(Action::AskAnew(index)),
                _ => {}
            }
        }
    }
    if line.peer_gone || world.editor != Editor::Up {
        return;
    }
    if let Some(call) = line.running {
        let sending = (call, line.nths[usize::from(call)]);
        // The call is still queued or was dropped from the queue, so the editor has no answer to it.
        if setting.has_journal() && world.journal.find(sending) != Some(Status::Running) {
            return told(world, index, line, out);
        }
        out.extend([Action::EditorReplies(index), Action::EditorRepeats(index), Action::EditorDoubles(index)]);
        if world.stray.is_none() {
            out.push(Action::Keep(index));
        }
    } else if matches!(line.out.front(), Some(Message::Call(_))) {
        let refusal = if setting.has_journal() { Action::EditorPostpones } else { Action::EditorTurnsAway };
        out.extend([Action::EditorTakes(index), refusal(index)]);
    }
    told(world, index, line, out);
}

/// Adds what the editor may send without a request: announcements, and a kept answer that belongs to another connection.
fn told(world: &World, index: u8, line: &Line, out: &mut Vec<Action>) {
    if !line.hung_up {
        out.extend([Action::EditorAnnounces(index), Action::EditorQuits(index)]);
        if world.stray.is_some_and(|(epoch, _)| epoch != line.epoch()) {
            out.push(Action::Misdeliver(index));
        }
    }
}

/// Adds what the editor does by itself with calls that it has queued or begun to run.
fn journal(world: &World, setting: &Setting, out: &mut Vec<Action>) {
    if world.editor != Editor::Up || !setting.is_asked() {
        return;
    }
    for call in (0u8..).take(setting.calls.len()) {
        if world.journal.first(call, Status::Queued).is_some() {
            out.push(Action::Begins(call));
        }
        let answered = |sending: (u8, u8)| {
            let on = |line: &Line| line.running == Some(sending.0) && line.nths[usize::from(sending.0)] == sending.1;
            world.lines.iter().any(|line| line.open && !line.peer_gone && on(line))
        };
        if world.journal.first(call, Status::Running).is_some_and(|sending| !answered(sending)) {
            out.push(Action::Ends(call));
        }
    }
    if !world.journal.late.is_empty() {
        out.push(Action::ReadLate(0));
    }
}

fn editor(world: &World, setting: &Setting, out: &mut Vec<Action>) {
    if setting.has_jobs() && world.editor == Editor::Up {
        out.push(Action::Forget);
    }
    match world.editor {
        Editor::Up => out.extend([Action::Reload, Action::Crash, Action::Freeze]),
        Editor::Frozen => out.extend([Action::ComeBack, Action::Crash]),
        Editor::Reloading | Editor::Dead => out.push(Action::ComeBack),
    }
}

fn hub(world: &World, setting: &Setting, out: &mut Vec<Action>) {
    if setting.hub {
        out.push(Action::HubEnds(Harm::None));
    }
    if setting.both && world.stage == Stage::Running && !world.leaving {
        out.extend([Next::Hub, Next::Gateway].map(Action::BothKilled));
    }
    if let Some(records) = world.records.as_ref().filter(|_| setting.harm) {
        let lines = u8::try_from(records.lines()).unwrap_or(u8::MAX);
        out.extend((0..lines).map(|line| Action::HubEnds(Harm::Line(line))));
        if lines > 0 {
            out.push(Action::HubEnds(Harm::Lost));
        }
        if !world.leaving && world.stage == Stage::Running {
            out.push(Action::HubLeaves);
        }
        if world.away & !world.stale != 0 {
            out.push(Action::StandStill);
        }
    }
    if !world.on_the_way.is_empty() {
        out.push(Action::Deliver);
    }
    if !world.leaving {
        out.extend((0u8..).take(setting.calls.len()).filter(|call| world.is_away(*call)).map(Action::Bring));
    }
}

fn end(world: &World, setting: &Setting, out: &mut Vec<Action>) {
    match world.stage {
        Stage::Running if setting.stop && !world.leaving => out.push(Action::Drain),
        Stage::Running | Stage::Ended => {}
        // The session of a hub brings what it has before the hub ends.
        Stage::Draining if world.away != 0 => {}
        Stage::Draining => out.push(Action::TellStop),
        Stage::Told => out.push(Action::TakeDown),
        Stage::Falling if world.lines.is_empty() => out.push(Action::Finish),
        Stage::Falling => {}
    }
}
