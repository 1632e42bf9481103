//! Whole tables, as they are read.

#![allow(clippy::unwrap_used)]
use crate::import::{self, Clock, ImportError, Imported, ImportedStream, Input, Options};
use delaylab_model::record::Record;
use delaylab_model::{Nanos, SECOND};

fn text(text: &str) -> Imported {
    import::read(text.as_bytes(), None).unwrap()
}

/// With these columns.
fn asked(text: &str, columns: &str) -> Result<Imported, ImportError> {
    let options = Options {
        columns: columns.split(',').map(str::to_owned).collect(),
        ..Options::default()
    };
    import::read_from(Input::new(text.as_bytes()).unwrap(), &options)
}

/// Packets, and how many of them were lost.
fn lost(imported: &Imported) -> (usize, u64) {
    let records = &imported.streams[0].records;
    (records.len(), records.counts().lost)
}

/// A heading, and a line for each number.
fn table(heading: &str, numbers: std::ops::Range<i64>, line: impl Fn(i64) -> String) -> Imported {
    let lines: Vec<String> = numbers.map(line).collect();
    text(&format!("{heading}\n{}\n", lines.join("\n")))
}

fn answered(stream: &ImportedStream) -> usize {
    stream.records.iter().filter(Record::answered).count()
}

fn round_trips(stream: &ImportedStream) -> Vec<Option<Nanos>> {
    let records = stream.records.iter();
    records.map(|record| record.round_trip()).collect()
}

fn warns(imported: &Imported, words: &str) -> bool {
    let mut warnings = imported.warnings.iter();
    warnings.any(|warning| warning.contains(words))
}

/// What the times of a column are, its first cells that say something tell.
#[test]
fn times_are_known_though_the_first_is_missing() {
    // As in tables with their units below the names.
    for missing in ["", "NaN", "-", "s"] {
        let imported = table("time,rtt_ms", 0..9, |row| match (row, missing) {
            (0, "s") => "s,ms".to_owned(),
            (0, _) => format!("{missing},12.1"),
            _ => format!("{},12.3", 1_795_437_125 + row),
        });
        assert_eq!(imported.streams[0].clock, Clock::RealTime, "{missing}");
        assert_eq!(
            warns(&imported, "not understood"),
            missing == "s",
            "{:?}",
            imported.warnings
        );
        let last = imported.streams[0].records.iter().last().unwrap();
        assert_eq!(last.t_intended, 1_795_437_133 * SECOND, "{missing}");
    }
}

#[test]
fn packets_with_a_delay_are_answered_unless_their_outcome_is_another() {
    let outcomes = [
        ("status", "200"),
        ("status", "NOERROR"),
        ("status", "up"),
        ("result", "pass"),
        ("error", "-"),
        ("error", "none"),
        ("error", "null"),
        ("loss", "0%"),
        ("loss", "0.0"),
        ("success", "Y"),
        ("ok", "t"),
        ("timeout", "1000"),
        ("timeout", "1"),
        ("timeout_ms", "1000"),
    ];
    for (column, cell) in outcomes {
        let heading = format!("seq,{column},rtt_ms");
        let imported = table(&heading, 0..30, |seq| format!("{seq},{cell},12.{seq:02}"));
        assert_eq!(answered(&imported.streams[0]), 30, "{column} = {cell}");
        assert!(!warns(&imported, "not understood"), "{column} = {cell}");
        let is_setting = column.starts_with("timeout");
        assert_eq!(warns(&imported, "columns not read"), is_setting, "{column}");
    }
}

#[test]
fn a_first_row_whose_packet_was_lost_is_no_heading() {
    for (rows, columns) in [
        (
            "1795948857000,\n1795948858000,10\n1795948859000,11\n",
            "time,rtt_ms",
        ),
        ("a,timeout\na,10\na,11\n", "host,rtt_ms"),
        ("a -\na 10\na 11\n", "host,rtt_ms"),
        (",x\n10,x\n11,x\n", "rtt_ms,-"),
    ] {
        let imported = asked(rows, columns).unwrap();
        assert_eq!(lost(&imported), (3, 1), "{rows}");
    }
    // Names, whatever `--columns` calls them.
    for (heading, columns) in [
        ("zeit,dauer,", "time,rtt_ms,-"),
        (",zeit,dauer", "-,time_s,rtt_ms"),
        ("time,lost,timeout", "time,rtt_ms,-"),
    ] {
        let row = "1795948857,10,11";
        let imported = asked(&format!("{heading}\n{row}\n"), columns).unwrap();
        assert_eq!(lost(&imported).0, 1, "{heading}");
    }
}

#[test]
fn a_table_of_packets_most_of_which_were_lost_is_a_table() {
    for (heading, time) in [
        ("time,rtt_ms", "1795948857000"),
        ("time,rtt_ms", "1795948857000000"),
        ("time,rtt_ms", "1795948857000000000"),
        ("host,rtt_ms", "a"),
        ("host,rtt_ms,note", "a"),
    ] {
        let more = if heading.ends_with("note") { ",x" } else { "" };
        let line = |n: i64| match n % 3 {
            0 => format!("{time},10.5{more}"),
            _ => format!("{time},{more}"),
        };
        let imported = table(heading, 1..101, line);
        assert_eq!(lost(&imported), (100, 67), "{heading} {time}");
    }
    let row = |n: i64| match n {
        99 => "a,ok,10.5".to_owned(),
        _ => "a,unreachable,".to_owned(),
    };
    let imported = table("host,status,rtt_ms", 0..100, row);
    assert_eq!(imported.streams[0].records.counts().answered(), 1);
}

#[test]
fn what_keeps_a_file_from_being_a_table_is_said() {
    let why = |text: &str| asked(text, "time,rtt_ms").unwrap_err().to_string();
    let ragged = why("time,rtt_ms\n1,2\n1,2,3\n1,2,3\n");
    let expected = "With `,` between them, line 1 has 2, and 2 rows of the first 4 have another number: line 3 has 3: 1,2,3";
    assert!(ragged.ends_with(expected), "{ragged}");
    assert!(why("1,2").contains("no whole row"));
}

#[test]
fn outcomes_that_are_lost_stay_lost_and_unknown_words_are_named() {
    let imported = text(
        "seq,status,lost,rtt_ms\n0,200,no,1.5\n1,timeout,no,1.5\n2,200,yes,1.5\n3,refused,no,1.5\n4,odd,no,1.5\n5,odd,no,-\n",
    );
    let outcomes = imported.streams[0].records.iter();
    let outcomes: Vec<&str> = outcomes.map(|record| record.outcome.name()).collect();
    assert_eq!(outcomes, ["ok", "lost", "lost", "refused", "ok", "lost"]);
    assert!(
        warns(&imported, "`status` odd. "),
        "{:?}",
        imported.warnings
    );
    // A truth, of which most packets have no time-out, is no setting.
    let truth = text("seq,timeout,rtt_ms\n0,0,1.5\n1,0,1.5\n2,1,1000\n");
    assert_eq!(answered(&truth.streams[0]), 2);
    let corrupt = text("seq,outcome,rtt_ms\n0,ok,1.5\n1,corrupt,1.5\n");
    assert_eq!(corrupt.streams[0].records.counts().corrupt, 1);
}

#[test]
fn one_way_delays_may_be_less_than_zero_and_round_trips_may_not() {
    let line = |n: i64| format!("{}.5,-{}.{:02}", 100 + n, n % 3, 2 + n % 70);
    let imported = table("time_s,owd_ms", 0..200, line);
    assert_eq!(answered(&imported.streams[0]), 200);
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    // A -1 stands for what was lost, unless other delays are less than 0, too.
    let whole = text("seq,owd_us\n0,-3\n1,-1\n2,4\n");
    assert_eq!(
        round_trips(&whole.streams[0]),
        [Some(-3_000), Some(-1_000), Some(4_000)]
    );
    let lost = text("seq,owd_us\n0,3\n1,-1\n2,4\n");
    assert_eq!(answered(&lost.streams[0]), 2);
    let there_and_back = text("seq,rtt_ms\n0,3.5\n1,-1\n2,-1.0\n3,-1.5\n4,2.5\n");
    assert_eq!(answered(&there_and_back.streams[0]), 2);
    assert!(warns(&there_and_back, "1 line was not understood"));
}

#[test]
fn numbers_in_another_order_invent_no_losses() {
    let last_first = table("seq,rtt_ms", -1..39_999, |n| match n {
        -1 => "39999,1.5".to_owned(),
        _ => format!("{n},1.5"),
    });
    let counts = last_first.streams[0].records.counts();
    assert_eq!((counts.answered(), counts.lost), (40_000, 0));
    let twice = table("seq,rtt_ms", 0..80_000, |n| format!("{},1.5", n % 40_000));
    let counts = twice.streams[0].records.counts();
    assert_eq!(
        (counts.answered(), counts.lost, counts.duplicate),
        (40_000, 0, 40_000)
    );
    assert!(warns(
        &twice,
        "40000 rows have a number that was answered before"
    ));
}

/// When the first packet was sent, if the table says so.
fn first_sent(imported: &Imported) -> Option<Nanos> {
    let stream = &imported.streams[0];
    let is_told = stream.clock == Clock::RealTime;
    stream.records.get(0).unwrap().t_send.filter(|_| is_told)
}

#[test]
fn times_are_read_with_their_zone_and_in_two_columns() {
    let noon = 1_795_437_125 * SECOND;
    for table in [
        "time,rtt_ms\n23.11.2026 12:32:05,1.5\n23.11.2026 12:32:06,1.5\n",
        "time,rtt_ms\n2026-11-23 07:32:05 -0500,1.5\n2026-11-23 07:32:06 -0500,1.5\n",
        "time,rtt_ms\n2026-11-23 13:32:05 +0100,1.5\n2026-11-23 13:32:06 +0100,1.5\n",
        "date,time,rtt_ms\n2026-11-23,12:32:05,1.5\n2026-11-23,12:32:06,1.5\n",
        "time;date;rtt_ms\n12:32:05;23.11.2026;1.5\n12:32:06;23.11.2026;1.5\n",
    ] {
        let imported = text(table);
        assert_eq!(first_sent(&imported), Some(noon), "{table}");
        assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    }
}

#[test]
fn times_that_can_be_read_in_two_ways_are_named() {
    for (cell, day) in [
        ("11/23/2026 12:32:05", ""),
        ("2026-11-23 12:32:05 CET", ""),
        ("12:32:05", ""),
        ("12:32:05", "11/12/2026"),
    ] {
        let (heading, before) = match day {
            "" => ("time,rtt_ms", String::new()),
            _ => ("date,time,rtt_ms", format!("{day},")),
        };
        let imported = table(heading, 0..3, |_| format!("{before}{cell},1.5"));
        assert_eq!(first_sent(&imported), None, "{cell}");
        let named = format!("{day} {cell}");
        let said = format!(
            "`time` is not understood in 3 rows, the first is `{}`",
            named.trim_start()
        );
        assert!(warns(&imported, &said), "{:?}", imported.warnings);
    }
    let missing = text("time,rtt_ms\n2026-11-23 12:32:05,1.5\n,-\n2026-11-23 12:32:07,1.5\n");
    assert!(missing.warnings.is_empty(), "{:?}", missing.warnings);
}

/// Every third of 300 packets, 10 ms apart, is overtaken by the two behind it.
#[test]
fn replies_are_in_the_order_of_their_times_however_rows_are_sorted() {
    let row = |n: i64| {
        let round_trip = if n % 3 == 0 { 28 } else { 5 };
        let line = format!("{n},{}.{:03},{round_trip}.0", 100 + n / 100, n % 100 * 10);
        (10 * n + round_trip, line)
    };
    let extents = |rows: &[(i64, String)]| -> Vec<u32> {
        let lines: Vec<&str> = rows.iter().map(|(_, line)| line.as_str()).collect();
        let imported = text(&format!("seq,time_s,rtt_ms\n{}\n", lines.join("\n")));
        let records = imported.streams[0].records.iter();
        records.map(|record| record.reorder_extent).collect()
    };
    let mut rows: Vec<(i64, String)> = (0..300).map(row).collect();
    let by_number = extents(&rows);
    rows.sort();
    assert_eq!(by_number, extents(&rows));
    let overtaken: Vec<&u32> = by_number.iter().filter(|&&extent| extent > 0).collect();
    assert_eq!(overtaken, [&2; 100]);
    // Of times to a second only the rows tell an order.
    let coarse = |n: i64| {
        (
            n,
            format!(
                "{n},{},{}.0",
                100 + n / 10,
                if n % 3 == 0 { 280 } else { 5 }
            ),
        )
    };
    let coarse: Vec<(i64, String)> = (0..300).map(coarse).collect();
    assert_eq!(extents(&coarse), [0; 300]);
}

/// pandas writes whole numbers so where one of them was missing.
#[test]
fn numbers_may_have_a_point_or_be_missing() {
    let imported = text("seq,rtt_ms\n1.0,10\n2.0,11\n,-\n4.0,12\n");
    let delays = [10, 11].map(|ms| Some(ms * SECOND / 1_000));
    assert_eq!(round_trips(&imported.streams[0])[..2], delays);
    let records = imported.streams[0].records.iter();
    let outcomes: Vec<_> = records
        .map(|record| (record.seq, record.answered()))
        .collect();
    assert_eq!(outcomes, [(0, true), (1, true), (2, false), (3, true)]);
    assert_eq!(imported.strange, None);
    let broken = text("seq,rtt_ms\n1.0,10\n2.5,11\n3.0,12\n");
    assert_eq!(broken.strange.map(|(line, _)| line), Some(3));
}

#[test]
fn decimals_and_thousands_are_told_apart_by_the_marks_of_a_number() {
    for (table, expected) in [
        ("\"time_s\",\"rtt_ms\"\n1,\"12,3\"\n", 12_300_000),
        ("time_s;rtt_ms\n1;12,3\n", 12_300_000),
        ("time_s\trtt_ms\n1\t1,234.5\n", 1_234_500_000),
        ("time_s;rtt_ms\n1;1.234,5\n", 1_234_500_000),
    ] {
        let imported = text(table);
        assert_eq!(
            round_trips(&imported.streams[0]),
            [Some(expected)],
            "{table}"
        );
    }
}

#[test]
fn a_mark_means_the_same_in_a_whole_column() {
    for (table, expected) in [
        (
            "seq,rtt_us\n1,\"1,234.5\"\n2,\"2,345\"\n3,999.5\n4,\"12,345\"\n",
            &[1_234_500, 2_345_000, 999_500, 12_345_000][..],
        ),
        (
            "seq;rtt_us\n1;1.234,5\n2;2.345\n3;999,5\n",
            &[1_234_500, 2_345_000, 999_500],
        ),
        (
            "seq;rtt\n1;1.234,5 us\n2;2.345 us\n3;1.234.567 us\n",
            &[1_234_500, 2_345_000, 1_234_567_000],
        ),
        (
            "seq,rtt_us\n998,1.5\n999,2.5\n\"1,000\",3.5\n\"1,001\",4.5\n",
            &[1_500, 2_500, 3_500, 4_500],
        ),
        ("size,rtt_us\n64.0,1.5\n\"1,500\",2.5\n", &[1_500, 2_500]),
    ] {
        let imported = text(table);
        let expected: Vec<_> = expected.iter().copied().map(Some).collect();
        assert_eq!(round_trips(&imported.streams[0]), expected, "{table}");
        assert!(!warns(&imported, "commas"), "{:?}", imported.warnings);
    }
}

#[test]
fn a_comma_that_may_be_either_is_named() {
    let imported = text("seq,rtt_us\n1,\"1,234\"\n2,\"2,345\"\n3,999\n");
    let delays = [1_234, 2_345, 999_000].map(Some);
    assert_eq!(round_trips(&imported.streams[0]), delays);
    assert!(
        warns(&imported, "`rtt_us` has 2 numbers such as `1,234`, and"),
        "{:?}",
        imported.warnings
    );
    let both = "seq,rtt_us\n1,\"1,234.5\"\n2,\"12,5\"\n";
    let error = import::read(both.as_bytes(), None).unwrap_err().to_string();
    let expected = "in column `rtt_us`, `1,234.5` and `12,5` have decimals behind different marks";
    assert!(error.starts_with(expected), "{error}");
}
