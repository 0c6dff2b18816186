//! Closes stdin of a gateway that has no open request, `RUNS` times, and measures how long the gateway takes to exit.

use super::client::{self, Client};
use super::scenario::Scenario;
use super::system::runs;
use super::{Room, SOON, setting, share, until};

#[test]
fn the_end_of_stdin_with_nothing_sent_ends_it_every_time_and_leaves_no_process() {
    let mut scenario = Scenario::new("exit-after-eof", &["C01"]);
    let room = Room::new();
    let mut took = Vec::new();
    for run in 0..setting("RUNS", share(50, 100)) {
        let mut client = Client::spawn(&room, client::command(&room));
        // Every second run closes stdin after the handshake, while the gateway is at work.
        if run % 2 == 1 {
            client.initialize();
        }
        let pid = client.pid();
        client.close_stdin();
        scenario.record.injected("end of stdin");
        let (status, end) = client.ended_within(SOON);
        assert_eq!(status.code(), Some(0), "{status}");
        client.check(&room);
        until("the process is gone", || !runs(pid));
        scenario.record.checked("I6", 1);
        took.push(end.as_secs_f64() * 1000.0);
    }
    scenario.percentiles("exit", &took);
}
