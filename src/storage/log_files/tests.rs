use super::*;

fn ring(state: &Path, started: u64, pid: u32) -> LogRing {
    LogRing::new(state, Duration::from_millis(started), pid)
}

fn head(project: &str) -> String {
    format!("{{\"level\":\"INFO\",\"event\":\"project_found\",\"project\":\"{project}\"}}\n")
}

/// A line of `bytes` bytes, its end included.
fn line(number: usize, bytes: usize) -> String {
    format!("{{\"event\":\"x\",\"number\":{number:>0$}}}\n", bytes - 24)
}

fn size(state: &Path) -> usize {
    let files = RealHost.list(&state.join(FOLDER)).unwrap();
    files.iter().map(|(path, _)| usize::try_from(path.metadata().unwrap().len()).unwrap()).sum()
}

#[test]
fn lines_are_kept_in_order_in_two_private_files_of_limited_length() {
    let state = tempfile::tempdir().unwrap();
    let mut log = ring(state.path(), 1, 7);
    log.write_all(head("/Castle").as_bytes()).unwrap();
    let count = 3 * LOG_FILE_MAX_BYTES / 1000;
    for number in 0..count {
        log.write_all(line(number, 1000).as_bytes()).unwrap();
        assert!(size(state.path()) <= 2 * LOG_FILE_MAX_BYTES);
    }
    let [kept] = &all(state.path())[..] else { panic!("one log") };
    assert_eq!((kept.pid(), kept.started()), (7, SystemTime::UNIX_EPOCH + Duration::from_millis(1)));
    let lines = super::lines(kept);
    assert_eq!(projects(&lines), ["/Castle"], "the line is there, and once");
    let numbers: Vec<usize> = lines
        .iter()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["number"].as_u64())
        .map(|number| usize::try_from(number).unwrap())
        .collect();
    let first = count - numbers.len();
    assert!(numbers.len() > LOG_FILE_MAX_BYTES / 1000, "{}", numbers.len());
    assert!(numbers.iter().copied().eq(first..count), "{numbers:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&kept.path()), mode(&kept.path_before()), mode(&kept.folder)), (0o600, 0o600, 0o700));
    }
}

#[test]
fn a_batch_that_is_longer_than_a_file_is_divided_at_a_line() {
    let state = tempfile::tempdir().unwrap();
    let mut log = ring(state.path(), 1, 7);
    let batch: String = (0..LOG_FILE_MAX_BYTES / 400).map(|number| line(number, 1000)).collect();
    let too_long = "x".repeat(LOG_FILE_MAX_BYTES + 1) + "\n";
    log.write_all((batch + &too_long + &line(123_456, 1000)).as_bytes()).unwrap();
    assert!(size(state.path()) <= 2 * LOG_FILE_MAX_BYTES);
    let lines = super::lines(&all(state.path())[0]);
    assert!(lines.len() > LOG_FILE_MAX_BYTES / 1000 && lines.last().unwrap().contains("123456"));
    for line in lines {
        serde_json::from_str::<serde_json::Value>(&line).unwrap();
    }
}

#[test]
fn only_so_many_logs_are_kept_those_written_to_last() {
    let state = tempfile::tempdir().unwrap();
    for pid in 0..LOG_GATEWAYS_MAX + 5 {
        let pid = u32::try_from(pid).unwrap();
        let mut log = ring(state.path(), u64::from(pid), pid);
        log.write_all(line(1, 100).as_bytes()).unwrap();
        // The first one is written to last, so it is not the oldest.
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(if pid == 0 { 1000 } else { u64::from(pid) });
        File::options().write(true).open(log.log.path()).unwrap().set_modified(at).unwrap();
    }
    let kept: Vec<u32> = all(state.path()).iter().map(LogFile::pid).collect();
    assert_eq!(kept.len(), LOG_GATEWAYS_MAX);
    assert!(kept.contains(&0) && !kept.contains(&1) && !kept.contains(&5) && kept.contains(&6), "{kept:?}");
    assert!(kept.is_sorted_by(|a, b| a > b), "the newest first: {kept:?}");
}

#[test]
fn logs_that_are_written_to_while_they_are_compared_stop_nobody() {
    let state = tempfile::tempdir().unwrap();
    let others: Vec<LogRing> = (0..LOG_GATEWAYS_MAX * 4)
        .map(|pid| {
            let mut log = ring(state.path(), 1, u32::try_from(pid).unwrap());
            log.write_all(line(1, 100).as_bytes()).unwrap();
            log
        })
        .collect();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            // One log after the other, in an order without a pattern.
            for turn in 0..10_000_u64 {
                let log = &others[usize::try_from(turn * 31 % 79).unwrap()].log;
                let file = File::options().create(true).append(true).open(log.path()).unwrap();
                file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(turn * 7919 % 1009)).unwrap();
            }
        });
        while !writer.is_finished() {
            prune(&others[0].log);
        }
    });
    prune(&others[0].log);
    assert_eq!(all(state.path()).len(), LOG_GATEWAYS_MAX);
}

#[test]
fn a_log_that_was_removed_begins_again_and_still_says_whose_it_is() {
    let state = tempfile::tempdir().unwrap();
    let mut log = ring(state.path(), 1, 7);
    log.write_all((head("/Castle") + &line(1, 100)).as_bytes()).unwrap();
    std::fs::remove_dir_all(state.path().join(FOLDER)).unwrap();
    log.write_all(line(2, 100).as_bytes()).unwrap();
    let lines = super::lines(&all(state.path())[0]);
    assert_eq!((lines.len(), projects(&lines)[0].as_ref()), (2, "/Castle"));
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_is_an_error_and_the_next_line_stands_alone() {
    let state = tempfile::tempdir().unwrap();
    let mut log = ring(state.path(), 1, 7);
    // A file in the place of the folder.
    std::fs::write(state.path().join(FOLDER), "").unwrap();
    assert!(log.write_all(line(1, 100).as_bytes()).is_err());
    std::fs::remove_file(state.path().join(FOLDER)).unwrap();
    log.write_all(line(2, 100).as_bytes()).unwrap();
    // A full disk has cut a line.
    File::options().append(true).open(log.log.path()).unwrap().write_all(b"{\"cut").unwrap();
    log.is_cut = true;
    log.write_all(line(3, 100).as_bytes()).unwrap();
    let lines = super::lines(&all(state.path())[0]);
    assert_eq!(lines.iter().filter(|line| line.ends_with('}')).count(), 2, "{lines:?}");
    // A link is not written through.
    let target = state.path().join("elsewhere");
    std::fs::write(&target, "").unwrap();
    std::fs::remove_file(log.log.path()).unwrap();
    std::os::unix::fs::symlink(&target, log.log.path()).unwrap();
    assert!(log.write_all(line(4, 100).as_bytes()).is_err());
    assert_eq!(std::fs::read(&target).unwrap(), b"");
}

#[test]
fn a_reader_follows_over_every_new_file_and_sees_each_line_once() {
    let state = tempfile::tempdir().unwrap();
    let mut log = ring(state.path(), 1, 7);
    log.write_all((head("/Castle") + &line(0, 1000)).as_bytes()).unwrap();
    let (mut reader, mut lines) = Follower::start(&all(state.path())[0]);
    let mut written = 1;
    // Steps that end within a file, at its end, and one file later.
    for step in [1, 300, 523, 7, 600, 524, 2] {
        for _ in 0..step {
            log.write_all(line(written, 1000).as_bytes()).unwrap();
            written += 1;
        }
        lines.extend(reader.more());
        assert_eq!(lines.len(), written + 1, "after {step}");
    }
    // Half a line is no line yet.
    let mut file = File::options().append(true).open(log.log.path()).unwrap();
    file.write_all(b"{\"half\":").unwrap();
    assert!(reader.more().is_empty());
    file.write_all(b"1}\n").unwrap();
    assert_eq!(reader.more(), ["{\"half\":1}"]);
    std::fs::remove_file(log.log.path()).unwrap();
    assert!(reader.more().is_empty());
    log.write_all(line(9, 100).as_bytes()).unwrap();
    assert_eq!(reader.more().len(), 1);
}

#[test]
fn of_a_file_that_no_gateway_wrote_the_end_is_shown_and_followed() {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().join(FOLDER);
    std::fs::create_dir(&folder).unwrap();
    let count = 5 * LOG_FILE_MAX_BYTES / 1000;
    let text: String = (0..count).map(|number| line(number, 1000)).collect();
    let path = folder.join("1-7.jsonl");
    std::fs::write(&path, text).unwrap();
    let [log] = &all(state.path())[..] else { panic!("one log") };
    let (mut follower, lines) = Follower::start(log);
    let numbers: Vec<usize> = lines
        .iter()
        .map(|line| {
            let number = serde_json::from_str::<serde_json::Value>(line).expect("whole lines only")["number"].as_u64();
            usize::try_from(number.unwrap()).unwrap()
        })
        .collect();
    assert_eq!(numbers.last(), Some(&(count - 1)));
    assert!(numbers.len() >= 2 * LOG_FILE_MAX_BYTES / 1000 - 2, "{} lines", numbers.len());
    assert!(numbers.is_sorted_by(|a, b| a + 1 == *b));
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(line(count, 1000).as_bytes()).unwrap();
    assert_eq!(follower.more(), [line(count, 1000).trim_end()]);
}
