use super::super::rate::Stamp;
use super::super::scoreboard::Sent;
use super::*;
use delaylab_model::PICOS_PER_SECOND;

const MS: Picos = PICOS_PER_SECOND / 1000;
const MSS: u64 = 1000;
/// Least and smoothed.
const RTT: [Picos; 2] = [20 * MS, 20 * MS];

/// Ten segments, one each millisecond.
fn sent() -> (Rack, Scoreboard) {
    let (mut rack, mut board) = (Rack::new(), Scoreboard::default());
    for k in 0..10 {
        board.push(Sent {
            start: k * MSS,
            end: (k + 1) * MSS,
            at: k * MS,
            fate: Fate::Out,
            again: false,
            twice: false,
            stamp: Stamp::default(),
        });
        rack.on_sent(k * MS, k * MSS);
    }
    (rack, board)
}

/// Segment `k` has arrived out of order, and its ACK comes a round trip after it was sent.
fn sack(rack: &mut Rack, board: &mut Scoreboard, k: u64, late: Picos) -> Picos {
    let now = k * MS + RTT[0] + late;
    board.arrive((k * MSS, (k + 1) * MSS), |sent| {
        let arrived = Arrived {
            at: sent.at,
            end: sent.end,
            again: sent.again,
        };
        rack.on_arrived(arrived, now, RTT[0], 0);
    });
    rack.all_arrived((k + 1) * MSS);
    rack.detect(board, now, false, RTT);
    now
}

#[test]
fn a_segment_has_a_quarter_of_a_round_trip_to_come_late() {
    let (mut rack, mut board) = sent();
    sack(&mut rack, &mut board, 1, 0);
    assert!(!board.has_lost());
    // Sent at 0, a round trip of 20 ms, and 5 ms of reordering.
    assert_eq!(rack.deadline(), Some(25 * MS));
    rack.detect(&mut board, 25 * MS - 1, false, RTT);
    assert!(!board.has_lost());
    rack.detect(&mut board, 25 * MS, false, RTT);
    assert_eq!(board.first_lost().map(|sent| sent.start), Some(0));
    assert_eq!(rack.deadline(), None);
}

#[test]
fn three_beyond_it_are_enough_until_reordering_is_seen() {
    let (mut rack, mut board) = sent();
    for k in [2, 3, 4] {
        assert!(!board.has_lost());
        sack(&mut rack, &mut board, k, 0);
    }
    assert_eq!(board.first_lost().map(|sent| sent.start), Some(0));

    let (mut rack, mut board) = sent();
    sack(&mut rack, &mut board, 3, 0);
    // Segment 2 comes behind 3 although it was sent once.
    sack(&mut rack, &mut board, 2, 2 * MS);
    sack(&mut rack, &mut board, 4, 0);
    assert!(!board.has_lost());
    assert_eq!(rack.deadline(), Some(25 * MS));
}

/// RFC 8985 §6.2 step 2: a path that has become longer shows in segments that were sent before the newest as well.
#[test]
fn an_older_segment_that_comes_late_gives_the_others_as_much_time() {
    let (mut rack, mut board) = sent();
    sack(&mut rack, &mut board, 2, 0);
    assert_eq!(rack.deadline(), Some(25 * MS));
    // Segment 0 takes 24 ms: so may segment 1, and 5 ms of reordering.
    sack(&mut rack, &mut board, 0, 4 * MS);
    assert_eq!(rack.deadline(), Some(30 * MS));
}

#[test]
fn a_retransmission_that_is_lost_is_noticed() {
    let (mut rack, mut board) = sent();
    for k in [1, 2, 3] {
        sack(&mut rack, &mut board, k, 0);
    }
    board.resend(0, 24 * MS, Stamp::default());
    rack.on_sent(24 * MS, 0);
    // New data sent after it arrives, and it does not.
    board.push(Sent {
        start: 10 * MSS,
        end: 11 * MSS,
        at: 25 * MS,
        fate: Fate::Out,
        again: false,
        twice: false,
        stamp: Stamp::default(),
    });
    rack.on_sent(25 * MS, 10 * MSS);
    for k in 4..10 {
        sack(&mut rack, &mut board, k, 0);
    }
    assert!(!board.has_lost());
    let arrived = Arrived {
        at: 25 * MS,
        end: 11 * MSS,
        again: false,
    };
    rack.on_arrived(arrived, 45 * MS, RTT[0], 0);
    rack.all_arrived(11 * MSS);
    rack.detect(&mut board, 45 * MS, true, RTT);
    assert_eq!(board.first_lost().map(|sent| sent.start), Some(0));
}

#[test]
fn needless_retransmissions_widen_the_window_once_a_round() {
    let (mut rack, board) = sent();
    rack.reordered = true;
    let window = |rack: &Rack| rack.window(&board, false, 20 * MS, 100 * MS) / MS;
    assert_eq!(window(&rack), 5);
    rack.on_duplicate(0, 10_000);
    rack.on_duplicate(5000, 12_000);
    assert_eq!(window(&rack), 10);
    rack.on_duplicate(10_000, 20_000);
    assert_eq!(window(&rack), 15);
    (0..PERSIST).for_each(|_| rack.on_recovered());
    assert_eq!(window(&rack), 5);
}
