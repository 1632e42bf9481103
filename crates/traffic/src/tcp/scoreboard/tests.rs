use super::*;
use proptest::prelude::*;

const MSS: u64 = 1000;

fn sent(start: u64, end: u64) -> Sent {
    Sent {
        start,
        end,
        at: 0,
        fate: Fate::Out,
        again: false,
        twice: false,
        stamp: Stamp::default(),
    }
}

fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    (0..segments).for_each(|k| board.push(sent(k * MSS, (k + 1) * MSS)));
    board
}

fn lost(board: &mut Scoreboard) -> Vec<u64> {
    let mut found = Vec::new();
    while let Some(lost) = board.first_lost() {
        found.push(lost.start / MSS);
        board.resend(lost.start, 1, Stamp::default());
    }
    found
}

#[test]
fn three_pieces_or_more_than_two_segments_beyond_it_are_a_loss() {
    let mut pieces = board(20);
    for k in [3, 5] {
        pieces.arrive((k * MSS, (k + 1) * MSS), |_| ());
        pieces.judge(MSS);
        assert!(!pieces.has_lost());
    }
    pieces.arrive((7 * MSS, 8 * MSS), |_| ());
    pieces.judge(MSS);
    assert_eq!(lost(&mut pieces), [0, 1, 2]);
    assert_eq!(pieces.pipe(), 17 * MSS);
    let mut bytes = board(20);
    bytes.arrive((4 * MSS, 7 * MSS), |_| ());
    bytes.judge(MSS);
    assert_eq!(lost(&mut bytes), [0, 1, 2, 3]);
    // What was sent again is not lost a second time, what comes later is.
    bytes.arrive((10 * MSS, 13 * MSS), |_| ());
    bytes.judge(MSS);
    assert_eq!(lost(&mut bytes), [7, 8, 9]);
    assert_eq!(bytes.first_doubtful(), None);
}

#[test]
fn what_arrived_is_told_once() {
    let mut board = board(10);
    let mut told = Vec::new();
    for piece in [(3, 5), (3, 6), (2, 8)] {
        board.arrive((piece.0 * MSS, piece.1 * MSS), |sent| {
            told.push(sent.start / MSS)
        });
    }
    assert_eq!(told, [3, 4, 5, 2, 6, 7]);
    told.clear();
    board.acknowledge(9 * MSS, |sent| told.push(sent.start / MSS));
    assert_eq!(told, [0, 1, 8]);
    assert_eq!((board.len(), board.pipe()), (1, MSS));
    assert_eq!((board.arrived_bytes(), board.arrived_count()), (0, 0));
}

/// What may happen to segments, with numbers that are taken modulo what there is.
#[derive(Debug, Clone, Copy)]
enum Step {
    Push(u64),
    Acknowledge(u64),
    Arrive(u64, u64),
    Lose(usize),
    Resend,
    Doubtful,
    Judge,
    LoseAll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..=MSS).prop_map(Step::Push),
        1 => any::<u64>().prop_map(Step::Acknowledge),
        3 => any::<[u64; 2]>().prop_map(|[start, end]| Step::Arrive(start, end)),
        1 => any::<usize>().prop_map(Step::Lose),
        3 => Just(Step::Resend),
        1 => Just(Step::Doubtful),
        2 => Just(Step::Judge),
        1 => Just(Step::LoseAll),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    /// Counters are what the segments say, so the pipe is never negative; every byte is told to have
    /// arrived once; what has arrived is never sent again.
    #[test]
    fn counters_are_what_the_segments_say(steps in steps()) {
        let mut board = Scoreboard::default();
        let (mut una, mut nxt) = (0, 0);
        let mut told = vec![false; 200 * MSS as usize];
        for step in steps {
            let mut newly = |sent: &Sent| {
                for byte in sent.start..sent.end {
                    assert!(!std::mem::replace(&mut told[byte as usize], true));
                }
            };
            match step {
                Step::Push(len) => {
                    board.push(sent(nxt, nxt + len));
                    nxt += len;
                }
                Step::Acknowledge(next) => {
                    una += next % (nxt - una + 1);
                    board.acknowledge(una, &mut newly);
                }
                Step::Arrive(start, end) => {
                    let start = una + start % (nxt - una + 1);
                    let end = start + end % (nxt - start + 1);
                    board.arrive((start, end), &mut newly);
                }
                Step::Lose(at) if board.len() > 0 => board.lose_at(at % board.segments.len()),
                Step::Resend => {
                    if let Some(lost) = board.first_lost() {
                        prop_assert!(!told[lost.start as usize]);
                        board.resend(lost.start, 1, Stamp::default());
                    }
                }
                Step::Doubtful => {
                    if let Some(doubtful) = board.first_doubtful() {
                        prop_assert!(!told[doubtful.start as usize]);
                        board.resend(doubtful.start, 1, Stamp::default());
                    }
                }
                Step::Judge => board.judge(MSS),
                Step::LoseAll => board.lose_if(|_| true),
                Step::Lose(_) => {}
            }
            let bytes = |fate| -> u64 {
                let of = board.segments.iter().filter(|sent| sent.fate == fate);
                of.map(Sent::len).sum()
            };
            let twice = board.segments.iter().filter(|it| it.fate == Fate::Out && it.twice);
            let copies: u64 = twice.map(Sent::len).sum();
            prop_assert_eq!(board.pipe(), bytes(Fate::Out) + copies);
            prop_assert_eq!(board.lost, bytes(Fate::Lost));
            prop_assert_eq!(board.arrived_bytes(), bytes(Fate::Arrived));
            let all = board.pipe() - copies + board.lost + board.arrived_bytes();
            prop_assert_eq!(all, nxt - una);
            let all_known = (0..una).all(|byte| told[byte as usize]);
            prop_assert!(all_known);
            // The first that is lost is found, whatever was found before.
            let mut lost = board.segments.iter().filter(|sent| sent.fate == Fate::Lost);
            let first = lost.next().map(|sent| sent.start);
            prop_assert_eq!(board.clone().first_lost().map(|sent| sent.start), first);
        }
    }
}
