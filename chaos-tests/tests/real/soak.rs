//! Mixed load and faults for `SOAK_SECONDS`, while the gateway's memory, descriptors, threads and tasks are sampled each second.

use std::time::{Duration, Instant};

use chaos_tests::record::quarters;
use serde_json::{Value, json};

use super::client::Client;
use super::cycles::Load;
use super::scenario::Scenario;
use super::system::memory_kib;
use super::unity::Unity;
use super::{Room, setting};

/// The values that are sampled, and how far each may drift. Some counts vary a little, as connections and threads begin and
/// end. Memory has no bound over so short a time, because an allocator keeps what it once had.
const KINDS: [(&str, f64); 4] = [("memory_kib", f64::INFINITY), ("descriptors", 3.0), ("threads", 3.0), ("tasks", 3.0)];
/// From this length of the run on, the drift is also given per hour. In a shorter run it mostly shows the start and the
/// allocator.
const SLOPE_FROM: Duration = Duration::from_secs(600);
/// With fewer samples than this, quarters are not compared.
const SAMPLES_MIN: usize = 40;

fn sample(client: &mut Client) -> [f64; 4] {
    let pid = client.pid();
    let entries = |folder: &str| std::fs::read_dir(format!("/proc/{pid}/{folder}")).map_or(0, Iterator::count);
    let status = client.done("holdfast_status", &json!({}));
    let tasks = status.0.pointer("/result/structuredContent/resources/tasks").and_then(Value::as_f64);
    [memory_kib(pid) as f64, entries("fd") as f64, entries("task") as f64, tasks.expect("the number of its tasks")]
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
            0 => {
                scenario.record.injected("domain reload");
                unity.say("reload 60");
            }
            1 => {
                scenario.record.injected("reset");
                unity.say("rst");
                load.some(&mut client);
                unity.say("up");
            }
            2 => {
                scenario.record.injected("SIGKILL of the editor");
                unity.kill();
                load.some(&mut client);
                unity = Unity::of_project(&room, &["--quiet"]);
            }
            3 => {
                scenario.record.injected("SIGSTOP of the editor");
                unity.stop();
                load.some(&mut client);
                std::thread::sleep(Duration::from_millis(200));
                unity.go_on();
            }
            _ => faults = faults.saturating_sub(1),
        }
        faults += 1;
        client.echoes();
        load.settle(&client, &mut scenario);
        if samples.len() < began.elapsed().as_secs() as usize {
            samples.push(sample(&mut client));
        }
    }
    load.audit(&room, &mut scenario);
    let length = began.elapsed();
    samples.push(sample(&mut client));
    scenario.record.figure("faults", f64::from(faults));
    scenario.record.figure("samples", samples.len() as f64);
    for (kind, (name, bound)) in KINDS.into_iter().enumerate() {
        let values: Vec<f64> = samples.iter().map(|values| values[kind]).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        let (early, late) = quarters(&values);
        scenario.say(&format!("{name:<12} early {early:>9} late {late:>9} max {most:>9}, medians of quarters"));
        for (label, value) in [("early", early), ("late", late), ("max", most), ("drift", late - early)] {
            scenario.record.figure(&format!("{name}_{label}"), value);
        }
        if length >= SLOPE_FROM {
            // The middles of the second and of the last quarter are half of the run apart.
            let per_hour = (late - early) / (length.as_secs_f64() / 2.0 / 3600.0);
            scenario.record.figure(&format!("{name}_drift_per_hour"), per_hour);
        }
        if values.len() >= SAMPLES_MIN {
            assert!(late - early <= bound, "{name} rose from {early} to {late}");
            scenario.record.checked("I4", 1);
        }
    }
    scenario.picture(&client, &room);
    client.close(&room);
}
