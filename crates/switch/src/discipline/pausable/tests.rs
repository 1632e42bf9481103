use super::*;
use crate::buffer::Bound;
use crate::tests::{Thing, put, take};
use crate::weights::Weights;
use proptest::prelude::*;

fn kinds() -> Vec<(Kind, bool)> {
    let by_class = || Weights::new(By::Queue, vec![1, 2, 3]);
    let by_flow = || Weights::new(By::Flow, Vec::new());
    vec![
        (Kind::Priority, true),
        (Kind::Wrr(by_class()), true),
        (Kind::Wfq(by_class()), true),
        (Kind::Wrr(by_flow()), false),
        (Kind::Wfq(by_flow()), false),
        (Kind::Fifo { mark: None }, false),
        (Kind::PerFlow, false),
        (Kind::Drr { quantum: 100 }, false),
    ]
}

fn queue_of(kind: &Kind) -> Pausable<Thing> {
    Pausable::new(Discipline::new(kind, Bound::UNLIMITED, 1), kind)
}

#[test]
fn a_stopped_class_waits_and_others_go_on_where_there_are_class_queues() {
    for (kind, by_class) in kinds() {
        let mut queue = queue_of(&kind);
        for class in [1, 0, 1, 2] {
            put(&mut queue, 0, Thing::cell(u32::from(class)).queue(class));
        }
        queue.pause(0b010, 100);
        let early: Vec<_> = std::iter::from_fn(|| take(&mut queue, 50)).collect();
        let mut early: Vec<_> = early.iter().map(|thing| thing.queue).collect();
        early.sort_unstable();
        let expected = if by_class { vec![0, 2] } else { vec![] };
        assert_eq!(early, expected, "{kind:?}");
        assert_eq!(queue.next_event(), Some(100), "{kind:?}");
        assert_eq!(queue.held(0b010).items, 2);
        let late = std::iter::from_fn(|| take(&mut queue, 100)).count();
        assert_eq!(early.len() + late, 4, "{kind:?}");
        assert!(queue.backlog().is_empty() && queue.held(Set::MAX).is_empty());
    }
}

#[test]
fn a_pause_of_nothing_that_waits_is_no_event() {
    let mut queue = queue_of(&Kind::Priority);
    queue.pause(0b010, 100);
    assert_eq!(queue.next_event(), None);
    put(&mut queue, 0, Thing::cell(0).queue(0));
    assert_eq!(queue.next_event(), Some(0));
    queue.pause(0b001, 70);
    assert_eq!(queue.next_event(), Some(70));
    // XON.
    queue.pause(0b001, 0);
    assert!(take(&mut queue, 10).is_some());
}

#[test]
fn a_class_that_was_stopped_does_not_make_up_for_it() {
    let kind = Kind::Wfq(Weights::new(By::Queue, vec![1, 1]));
    let mut queue = queue_of(&kind);
    for _ in 0..100 {
        put(&mut queue, 0, Thing::cell(0).queue(0));
        put(&mut queue, 0, Thing::cell(1).queue(1));
    }
    queue.pause(0b10, 10);
    for _ in 0..50 {
        assert_eq!(take(&mut queue, 0).map(|thing| thing.queue), Some(0));
    }
    let after: Vec<_> = (0..20).filter_map(|_| take(&mut queue, 10)).collect();
    let of_the_other = after.iter().filter(|thing| thing.queue == 1).count();
    assert!((10..=11).contains(&of_the_other), "{of_the_other}");
}

proptest! {
    #[test]
    fn nothing_is_lost_or_leaves_while_its_class_is_stopped(
        kind in 0_usize..8,
        steps in prop::collection::vec((0_u8..3, 0_u8..4, 40_u32..1_500), 1..200),
    ) {
        let (kind, by_class) = kinds().swap_remove(kind);
        let mut queue = queue_of(&kind);
        let mut until = [0; 3];
        let (mut put_in, mut taken) = (0, Vec::new());
        for (now, (class, what, bytes)) in (0..).zip(steps) {
            match what {
                0 | 1 => {
                    put(&mut queue, now, Thing::cell(u32::from(class)).queue(class).bytes(bytes).number(put_in));
                    put_in += 1;
                }
                2 => {
                    until[usize::from(class)] = now + Picos::from(bytes % 10);
                    queue.pause(1 << class, until[usize::from(class)]);
                }
                _ => {
                    let stopped = |class: usize| until[class] > now;
                    let open = by_class || !(0..3).any(stopped);
                    let waits = (0..3).any(|class| !stopped(class) && !queue.held(1 << class).is_empty());
                    let item = take(&mut queue, now);
                    prop_assert_eq!(item.is_some(), open && waits);
                    if let Some(item) = item {
                        prop_assert!(!stopped(usize::from(item.queue)));
                        taken.push(item);
                    }
                }
            }
        }
        taken.extend(std::iter::from_fn(|| take(&mut queue, 1_000_000)));
        prop_assert_eq!(taken.len() as u32, put_in);
        for class in 0..3 {
            let of_class: Vec<_> = taken.iter().filter(|thing| thing.queue == class).map(|thing| thing.number).collect();
            prop_assert!(of_class.is_sorted());
        }
        prop_assert!(queue.held(Set::MAX).is_empty());
    }
}
