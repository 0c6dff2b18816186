//! Mixed load and faults for `SOAK_SECONDS`, with the gateway's memory, descriptors and threads sampled each second.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::client::Client;
use super::cycles::Load;
use super::scenario::Scenario;
use super::system::memory_kib;
use super::unity::Unity;
use super::{Room, setting};

const KINDS: [&str; 3] = ["memory_kib", "descriptors", "threads"];

fn sample(pid: u32) -> [f64; 3] {
    let entries = |folder: &str| std::fs::read_dir(format!("/proc/{pid}/{folder}")).map_or(0, Iterator::count);
    [memory_kib(pid) as f64, entries("fd") as f64, entries("task") as f64]
}

#[test]
fn mixed_faults_for_a_while_leave_no_call_behind() {
    let length = Duration::from_secs(setting("SOAK_SECONDS", 8));
    let mut scenario = Scenario::new("soak", &["P01", "P02", "N02", "U01"]);
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let mut client = Client::open(&room, &["--project", &room.project().display().to_string()]);
    client.echoes();
    let (mut load, mut samples, began) = (Load::default(), Vec::new(), Instant::now());
    let mut faults = 0_u32;
    while began.elapsed() < length {
        load.some(&mut client);
        match fastrand::u8(0..6) {
            0 => unity.say("reload 60"),
            1 => {
                unity.say("rst");
                load.some(&mut client);
                unity.say("up");
            }
            2 => {
                unity.kill();
                load.some(&mut client);
                unity = Unity::of_project(&room, &["--quiet"]);
            }
            3 => {
                unity.signal(Signal::SIGSTOP);
                load.some(&mut client);
                std::thread::sleep(Duration::from_millis(200));
                unity.signal(Signal::SIGCONT);
            }
            _ => faults = faults.saturating_sub(1),
        }
        faults += 1;
        client.echoes();
        load.settle(&client, &mut scenario);
        // Not before the first rounds: what is allocated once is no drift.
        if samples.len() < began.elapsed().as_secs() as usize {
            samples.push((began.elapsed(), sample(client.pid())));
        }
    }
    load.audit(&room, &mut scenario);
    samples.push((began.elapsed(), sample(client.pid())));
    scenario.record.figure("faults", f64::from(faults));
    scenario.record.figure("samples", samples.len() as f64);
    for (kind, name) in KINDS.iter().enumerate() {
        let of = |index: usize| samples.get(index).map_or((Duration::ZERO, 0.0), |(at, values)| (*at, values[kind]));
        let (first, last) = (of(0), of(samples.len() - 1));
        let most = samples.iter().map(|(_, values)| values[kind]).fold(0.0, f64::max);
        let hours = (last.0 - first.0).as_secs_f64() / 3600.0;
        let drift = if hours > 0.0 { (last.1 - first.1) / hours } else { 0.0 };
        scenario.say(&format!(
            "{name:<12} first {:>9} last {:>9} max {most:>9} drift per hour {drift:>12.1}",
            first.1, last.1
        ));
        for (label, value) in [("first", first.1), ("last", last.1), ("max", most), ("drift_per_hour", drift)] {
            scenario.record.figure(&format!("{name}_{label}"), value);
        }
    }
    client.close(&room);
}
