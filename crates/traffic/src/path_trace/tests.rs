#![allow(clippy::unwrap_used)]
use super::compare::{Finding, Meeting, findings};
use super::hop::{ClassPath, Round, Share};
use super::*;
use delaylab_model::{MILLISECOND, SECOND};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

fn class(name: &str) -> Dscp {
    name.parse().unwrap()
}

fn settings(classes: &[&str]) -> Settings {
    Settings {
        classes: classes.iter().map(|name| class(name)).collect(),
        ecn: 0,
        first_ttl: 1,
        max_ttl: 30,
        queries: 3,
        interval: SECOND,
        gap: 2 * MILLISECOND,
        timeout: SECOND,
        give_up: 5,
        at_once: AtOnce::Many,
    }
}

/// Router `last` of a network; 0 is the target.
fn address(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

/// A network: what it says to a packet, and after how long.
type Net<'a> = &'a mut dyn FnMut(Dscp, u8, usize) -> Option<(Nanos, Answer)>;

/// By this router, having seen this class.
fn answer(router: u8, seen: Dscp) -> Option<(Nanos, Answer)> {
    let said = if router == 0 {
        Said::Error(Reason::PortUnreachable)
    } else {
        Said::Error(Reason::TtlExceeded)
    };
    let answer = Answer {
        at: 0,
        from: address(router),
        said,
        seen: Some(QuotedMarks {
            traffic_class: seen.traffic_class(0),
            ttl: 1,
        }),
        labels: Vec::new(),
        reply_ttl: None,
        reply_traffic_class: None,
    };
    Some((MILLISECOND * i64::from(router + 1), answer))
}

/// Carries a path trace out in virtual time.
fn run(settings: Settings, net: Net<'_>) -> PathTrace {
    let mut trace = PathTrace::new(settings, address(0), 0).unwrap();
    let mut now = 0;
    let mut replies = BinaryHeap::new();
    for _ in 0..1_000_000 {
        let arrived = |(at, ..): &(Nanos, u16)| *at <= now;
        while let Some(Reverse((at, number))) = replies.peek().copied()
            && arrived(&(at, number))
        {
            replies.pop();
            let packet = &trace.packets()[usize::from(number) - 1];
            let class = trace.settings().classes[packet.class];
            let (_, answer) = net(class, packet.ttl, usize::from(number)).unwrap();
            trace.answered(number, Answer { at, ..answer });
        }
        match trace.next(now) {
            Step::Done => return trace,
            Step::Send(due) => {
                let class = trace.settings().classes[due.class];
                if let Some((delay, _)) = net(class, due.ttl, due.number.into()) {
                    replies.push(Reverse((now + delay, due.number)));
                }
            }
            Step::Wait(until) => {
                assert!(until > now, "it waits for the past");
                let reply = replies.peek().map(|Reverse((at, _))| *at);
                now = reply.map_or(until, |at| at.clamp(now, until));
            }
        }
    }
    panic!("it does not end");
}

/// A path of `hops` routers and the target behind them.
fn plain(hops: u8) -> impl FnMut(Dscp, u8, usize) -> Option<(Nanos, Answer)> {
    move |class, ttl, _| answer(if ttl > hops { 0 } else { ttl }, class)
}

fn found(trace: &PathTrace) -> Vec<Finding> {
    findings(&ClassPath::of_every_class(trace), trace.settings().interval)
}

#[test]
fn every_hop_is_asked_as_often_as_it_was_wanted_and_no_more() {
    let trace = run(settings(&["be", "ef"]), &mut plain(4));
    for path in ClassPath::of_every_class(&trace) {
        assert_eq!(path.end, End::Target(5));
        let asked: Vec<_> = path.hops.iter().map(|hop| (hop.ttl, hop.sent)).collect();
        assert_eq!(asked, [(1, 3), (2, 3), (3, 3), (4, 3), (5, 3)]);
        assert_eq!(path.hops[1].routers[0].round_trips, [3 * MILLISECOND; 3]);
    }
    assert_eq!(found(&trace), []);
    // Only the first class had to look for the target: what it sent beyond it is all there is.
    let beyond = trace.packets().iter().filter(|packet| packet.ttl > 5);
    assert!(beyond.clone().all(|packet| packet.class == 0));
    assert!(beyond.count() < AHEAD.into());
}

/// A long path costs no more time than a short one: what counts is how often each hop is asked.
#[test]
fn hops_are_asked_side_by_side() {
    let trace = run(settings(&["be", "ef", "cs1"]), &mut plain(19));
    let last = trace.packets().last().unwrap();
    assert_eq!(trace.end(2), End::Target(20));
    assert!(last.sent_at < 9 * SECOND, "{last:?}");
    let first_round = trace.packets().iter().filter(|p| p.sent_at < SECOND);
    assert!(first_round.clone().all(|packet| packet.class == 0));
    assert!(first_round.count() >= 20);
}

/// The limiter of Linux: six at once, then one a second.
#[test]
fn a_routers_limiter_is_not_met() {
    let mut tokens: Vec<(Nanos, i64)> = vec![(0, 6 * SECOND); 10];
    let mut settings = settings(&["be", "ef", "cs1"]);
    settings.queries = 10;
    let mut sent = Vec::new();
    let trace = run(settings, &mut |class, ttl, number| {
        if !sent.contains(&number) {
            sent.push(number);
        }
        answer(if ttl > 4 { 0 } else { ttl }, class)
    });
    for packet in trace.packets() {
        let router = usize::from(packet.ttl.min(5));
        let (last, credit) = tokens[router];
        let credit = (credit + packet.sent_at - last).min(6 * SECOND) - SECOND;
        assert!(credit >= 0, "{packet:?}");
        tokens[router] = (packet.sent_at, credit);
    }
    assert_eq!(found(&trace), []);
}

#[test]
fn a_class_that_is_re_marked_says_where() {
    let trace = run(settings(&["be", "ef"]), &mut |sent, ttl, _| {
        // Hop 3 says nothing, so nobody knows on which side of it the mark is cleared.
        let seen = if ttl > 3 { class("be") } else { sent };
        let router = if ttl > 5 { 0 } else { ttl };
        (ttl != 3).then(|| answer(router, seen)).flatten()
    });
    let remarked = Finding::Remarked {
        class: class("ef"),
        from: class("ef"),
        to: class("be"),
        after: 2,
        at: 4,
        share: None,
    };
    let limited = Finding::Limited {
        some: vec![],
        none: vec![3],
    };
    assert_eq!(found(&trace), [remarked, limited]);
}

/// The changes that are found among 30 packets of ef to each of four hops, some of which arrive as cs1.
fn some_re_marked(is_re_marked: fn(u8, usize) -> bool) -> Vec<(u8, u8, Option<Share>)> {
    let mut settings = settings(&["ef"]);
    settings.queries = 30;
    let trace = run(settings, &mut |sent, ttl, number| {
        let seen = if is_re_marked(ttl, number) {
            class("cs1")
        } else {
            sent
        };
        answer(if ttl > 3 { 0 } else { ttl }, seen)
    });
    let changes = found(&trace).into_iter().map(|finding| match finding {
        Finding::Remarked {
            from,
            to,
            after,
            at,
            share,
            ..
        } if (from, to) == (class("ef"), class("cs1")) => (after, at, share),
        other => panic!("{other:?}"),
    });
    changes.collect()
}

#[test]
fn a_re_mark_of_some_packets_is_found_once_and_with_their_share() {
    let changes = some_re_marked(|ttl, number| ttl > 1 && number.is_multiple_of(3));
    let [(1, 2, Some(share))] = changes[..] else {
        panic!("{changes:?}");
    };
    assert!((8..=12).contains(&share.packets) && share.of == 30);
}

/// Of few re-marked packets, hops before may have had none by chance.
#[test]
fn where_one_packet_was_re_marked_is_not_said_closer_than_it_is_known() {
    let changes = some_re_marked(|ttl, number| ttl == 3 && (61..=64).contains(&number));
    let share = Share { packets: 1, of: 30 };
    assert_eq!(changes, [(0, 3, Some(share))]);
}

#[test]
fn a_class_that_leaves_the_path_says_where_and_where_it_is_back() {
    let trace = run(settings(&["be", "cs1"]), &mut |sent, ttl, _| {
        let router = match (sent == class("cs1"), ttl) {
            (true, 3) => 13,
            (true, 4) => 14,
            (true, 5) => 4,
            (true, 6) => 0,
            (_, 1..=4) => ttl,
            _ => 0,
        };
        answer(router, sent)
    });
    let parts = Finding::Parts {
        class: class("cs1"),
        from: class("be"),
        after: 2,
        at: 3,
        meets: Some(Meeting {
            ttl: 5,
            address: address(4),
        }),
        certain: true,
    };
    let distance = Finding::Distance {
        class: class("cs1"),
        hops: 6,
        from: class("be"),
        but: 5,
    };
    assert_eq!(found(&trace), [parts, distance]);
}

#[test]
fn a_hop_that_answers_some_classes_alone_is_named_unless_it_is_another() {
    let silent_for_ef = |sent, ttl, _| {
        let router = if ttl > 4 { 0 } else { ttl };
        let silent = sent == class("ef") && ttl == 3;
        (!silent).then(|| answer(router, sent)).flatten()
    };
    let trace = run(settings(&["be", "ef"]), &mut { silent_for_ef });
    let ignored = Finding::Ignored {
        class: class("ef"),
        ttl: 3,
        unlike: class("be"),
    };
    assert_eq!(found(&trace), [ignored]);
    // Where ef comes another way, who answers be there has never seen ef.
    let trace = run(settings(&["be", "ef"]), &mut |sent, ttl, number| {
        let elsewhere = sent == class("ef") && ttl == 2;
        if elsewhere {
            answer(12, sent)
        } else {
            silent_for_ef(sent, ttl, number)
        }
    });
    let found = found(&trace);
    assert!(matches!(found[..], [Finding::Parts { .. }]), "{found:?}");
}

#[test]
fn loss_is_told_from_routers_that_answer_seldom() {
    let mut lossy = |sent: Dscp, ttl: u8, number: usize| {
        // Hop 2 answers every other packet; from hop 4 on every third is lost.
        let answered = match ttl {
            2 => (number / 6).is_multiple_of(2),
            4.. => !(number / 6 + 2).is_multiple_of(3),
            _ => true,
        };
        answered
            .then(|| answer(if ttl > 5 { 0 } else { ttl }, sent))
            .flatten()
    };
    let mut settings = settings(&["be"]);
    settings.queries = 40;
    let trace = run(settings, &mut lossy);
    let paths = ClassPath::of_every_class(&trace);
    let [hop_2, hop_4] = [2, 4].map(|ttl| paths[0].hop(ttl).unwrap());
    assert!(paths[0].limits_answers(hop_2));
    let target = paths[0].hops.last().unwrap();
    assert!(hop_4.unanswered() > 5 && target.unanswered() > 5);
    let lost = found(&trace).into_iter().find_map(|finding| match finding {
        Finding::Lost { from, last, .. } => Some((from, last.packets)),
        _ => None,
    });
    assert_eq!(lost, Some((4, target.unanswered())));
}

/// Hop 2 and what is behind it lose every `each`th packet; the target answers six errors, and then no more.
fn behind_a_limit(each: Option<usize>, interval: Nanos) -> Vec<Finding> {
    let mut answered = 0;
    let mut sent_to = [0; 4];
    let mut settings = settings(&["be"]);
    (settings.queries, settings.interval) = (30, interval);
    let mut known = std::collections::BTreeMap::new();
    let mut net = |sent: Dscp, ttl: u8, number: usize| {
        let arrives = *known.entry(number).or_insert_with(|| {
            let at = usize::from(ttl.min(3));
            sent_to[at] += 1;
            let lost = at >= 2 && each.is_some_and(|each| sent_to[at] % each == 0);
            let limited = at == 3 && answered >= 6;
            answered += usize::from(at == 3 && !lost);
            !lost && !limited
        });
        let router = if ttl > 2 { 0 } else { ttl };
        arrives.then(|| answer(router, sent)).flatten()
    };
    found(&run(settings, &mut net))
}

#[test]
fn what_is_missing_at_the_target_alone_may_be_a_limit_on_its_errors() {
    let found = behind_a_limit(None, 100 * MILLISECOND);
    let [Finding::TargetLimits { after, missing, .. }] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(*after == 2 && missing.packets >= 24, "{found:?}");
    // Linux answers one a second.
    let slow = behind_a_limit(None, SECOND);
    assert!(
        matches!(slow[..], [Finding::Lost { from: 3, .. }]),
        "{slow:?}"
    );
}

#[test]
fn behind_a_limit_the_loss_is_that_of_the_hops_before() {
    let found = behind_a_limit(Some(3), 100 * MILLISECOND);
    let [
        Finding::Lost {
            from: 2,
            first,
            last,
            until: Some(2),
            ..
        },
        Finding::TargetLimits { missing, .. },
    ] = &found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!((first.packets, first.of, first), (10, 30, last));
    assert!(missing.packets > 20 && missing.exceeds(*last));
}

/// A path of three routers and a target that echoes, of 100 packets to each of which some are not answered.
fn with_missing(missing: [u64; 4]) -> (Vec<Finding>, Vec<u8>) {
    let mut settings = settings(&["be"]);
    settings.queries = 100;
    let mut numbers: [Vec<usize>; 4] = Default::default();
    let trace = run(settings, &mut |sent, ttl, number| {
        if ttl > 4 {
            return None;
        }
        let hop = usize::from(ttl) - 1;
        if !numbers[hop].contains(&number) {
            numbers[hop].push(number);
        }
        // The first packet to each hop is answered: it finds the target.
        let turn = numbers[hop].iter().position(|&known| known == number)?;
        let (delay, mut answer) = answer(if ttl > 3 { 0 } else { ttl }, sent)?;
        if ttl > 3 {
            answer.said = Said::EchoReply;
        }
        (turn == 0 || turn > missing[hop] as usize).then_some((delay, answer))
    });
    let path = ClassPath::of_every_class(&trace).remove(0);
    let limiting = path.hops.iter().filter(|hop| path.limits_answers(hop));
    (found(&trace), limiting.map(|hop| hop.ttl).collect())
}

/// 20 % are lost between hop 2 and 3: by chance a hop shows a few more than one behind it.
#[test]
fn loss_is_not_called_a_limit_because_hops_differ_by_chance() {
    let (found, limiting) = with_missing([0, 0, 21, 15]);
    assert!(limiting.is_empty(), "{limiting:?}");
    assert!(
        matches!(found[..], [Finding::Lost { from: 3, .. }]),
        "{found:?}"
    );
    let (found, limiting) = with_missing([0, 24, 17, 19]);
    assert!(limiting.is_empty(), "{limiting:?}");
    assert!(
        matches!(found[..], [Finding::Lost { from: 2, .. }]),
        "{found:?}"
    );
}

/// One packet that was lost near the sender is not where 30 % are lost, and two losses are two.
#[test]
fn loss_is_placed_where_it_clearly_rises() {
    for (missing, expected) in [
        ([1, 1, 30, 30], vec![(3, 30, None)]),
        ([1, 0, 30, 30], vec![(3, 30, None)]),
        ([1, 1, 1, 30], vec![(4, 30, None)]),
        ([20, 20, 70, 70], vec![(1, 20, Some(2)), (3, 70, None)]),
        ([1, 1, 1, 2], vec![(1, 2, None)]),
    ] {
        let (found, _) = with_missing(missing);
        let lost = found.iter().map(|finding| match finding {
            Finding::Lost {
                from, last, until, ..
            } => (*from, last.packets, *until),
            other => panic!("{other:?}"),
        });
        assert_eq!(Vec::from_iter(lost), expected, "{missing:?}");
    }
}

/// Its missing answers do not say that packets were lost there.
#[test]
fn loss_behind_a_hop_that_limits_its_answers_is_not_seen_from_there_on() {
    let (found, limiting) = with_missing([0, 0, 90, 13]);
    assert_eq!(limiting, [3_u8]);
    let [
        Finding::Lost { from: 4, .. },
        Finding::Limited { some, none },
    ] = &found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!((&some[..], none.is_empty()), (&[3][..], true));
}

/// One that answers nothing, and one that answers less than hops behind it of which nothing is missing.
#[test]
fn hops_that_limit_their_answers_are_named() {
    assert_eq!(with_missing([0, 8, 0, 0]).1, [2_u8]);
    assert!(with_missing([1, 0, 0, 0]).1.is_empty());
    let trace = run(settings(&["be"]), &mut |sent, ttl, _| {
        let router = if ttl > 3 { 0 } else { ttl };
        (ttl != 2).then(|| answer(router, sent)).flatten()
    });
    let path = ClassPath::of_every_class(&trace).remove(0);
    assert!(path.limits_answers(path.hop(2).unwrap()));
}

#[test]
fn silence_ends_a_path() {
    let mut settings = settings(&["be"]);
    settings.give_up = 3;
    let mut silent = |sent, ttl, _| (ttl < 3).then(|| answer(ttl, sent)).flatten();
    let trace = run(settings.clone(), &mut silent);
    assert_eq!(trace.end(0), End::Silent(2));
    let asked = trace.packets().iter().map(|packet| packet.ttl).max();
    assert!(asked <= Some(2 + 3 + AHEAD), "{asked:?}");
    let not_reached = Finding::NotReached {
        class: class("be"),
        end: End::Silent(2),
        refused: None,
        round: None,
    };
    assert_eq!(found(&trace), [not_reached]);
    for first_ttl in [1, 5] {
        settings.first_ttl = first_ttl;
        let trace = run(settings.clone(), &mut |_, _, _| None);
        assert_eq!(trace.end(0), End::Silent(first_ttl - 1));
    }
    settings.first_ttl = 1;
    settings.max_ttl = 2;
    let trace = run(settings.clone(), &mut plain(9));
    assert_eq!(trace.end(0), End::Beyond(2));
    // Two silent hops of the three that end a path.
    settings.max_ttl = 4;
    let trace = run(settings, &mut silent);
    assert_eq!(trace.end(0), End::Beyond(4));
}

/// Four packets are sent to four hops, and answers to all but the third come.
#[test]
fn a_stop_leaves_unknown_what_was_not_waited_for() {
    let mut trace = PathTrace::new(settings(&["be"]), address(0), 0).unwrap();
    for ttl in 1..=4 {
        let now = Nanos::from(ttl) * 2 * MILLISECOND;
        assert!(matches!(trace.next(now), Step::Send(due) if due.ttl == ttl));
    }
    let mut heard = trace.clone();
    heard.stop();
    assert_eq!(heard.end(0), End::Stopped(0));
    for ttl in [1, 2, 4] {
        let (_, answer) = answer(ttl, class("be")).unwrap();
        let at = 20 * MILLISECOND;
        assert!(trace.answered(ttl.into(), Answer { at, ..answer }));
    }
    trace.stop();
    let not_reached = Finding::NotReached {
        class: class("be"),
        end: End::Stopped(4),
        refused: None,
        round: None,
    };
    assert_eq!(found(&trace), [not_reached]);
}

/// A firewall of this host drops one class, and a link is down for two packets of the other.
#[test]
fn packets_that_this_host_does_not_send_are_none_of_the_path() {
    const EPERM: i32 = 1;
    const ENETDOWN: i32 = 100;
    let mut trace = PathTrace::new(settings(&["be", "ef"]), address(0), 0).unwrap();
    let mut now = 0;
    loop {
        match trace.next(now) {
            Step::Done => break,
            Step::Wait(until) => now = until,
            Step::Send(due) if due.class == 1 => trace.not_sent(due.number, EPERM),
            Step::Send(due) if due.number <= 2 => {
                trace.not_sent(due.number, ENETDOWN);
            }
            Step::Send(due) => {
                let router = if due.ttl > 3 { 0 } else { due.ttl };
                let (_, answer) = answer(router, class("be")).unwrap();
                assert!(trace.answered(due.number, Answer { at: now, ..answer }));
            }
        }
    }
    assert_eq!(trace.end(0), End::Target(4));
    let paths = ClassPath::of_every_class(&trace);
    assert!(paths[0].is_sent() && !paths[1].is_sent());
    assert!(paths[0].hops.iter().all(|hop| hop.unanswered() == 0));
    let not_sent = |class, errno, packets, of| Finding::NotSent {
        class,
        errno,
        share: Share { packets, of },
    };
    assert_eq!(
        found(&trace),
        [
            not_sent(class("be"), ENETDOWN, 2, paths[0].due),
            not_sent(class("ef"), EPERM, paths[1].due, paths[1].due),
        ]
    );
}

#[test]
fn a_refusal_ends_a_path_of_its_class_alone() {
    let trace = run(settings(&["be", "cs1"]), &mut |sent, ttl, _| {
        let (delay, mut answer) = answer(if ttl > 4 { 0 } else { ttl }, sent)?;
        if sent == class("cs1") && ttl >= 3 {
            answer.said = Said::Error(Reason::Prohibited);
            answer.from = address(3);
        }
        Some((delay, answer))
    });
    assert_eq!(
        (trace.end(0), trace.end(1)),
        (End::Target(5), End::Refused(3))
    );
}

/// `reject` of a firewall says what a host says of a port where nothing listens.
#[test]
fn an_error_of_a_router_is_no_arrival_whatever_it_says() {
    for reason in [Reason::PortUnreachable, Reason::ProtocolUnreachable] {
        let trace = run(settings(&["be", "ef"]), &mut |sent, ttl, _| {
            let (delay, mut answer) = answer(if ttl > 3 { 0 } else { ttl }, sent)?;
            if sent == class("ef") && ttl > 2 {
                (answer.from, answer.said) = (address(2), Said::Error(reason));
            }
            Some((delay, answer))
        });
        assert_eq!(
            (trace.end(0), trace.end(1)),
            (End::Target(4), End::Refused(3)),
            "{reason:?}"
        );
        let not_reached = Finding::NotReached {
            class: class("ef"),
            end: End::Refused(3),
            refused: Some((address(2), Said::Error(reason))),
            round: None,
        };
        assert_eq!(found(&trace), [not_reached], "{reason:?}");
    }
}

/// Its own firewall refuses them; they have arrived all the same.
#[test]
fn an_error_of_the_target_is_an_arrival_whatever_it_says() {
    for reason in [Reason::Prohibited, Reason::HostUnreachable] {
        let trace = run(settings(&["be"]), &mut |sent, ttl, _| {
            let (delay, mut answer) = answer(if ttl > 3 { 0 } else { ttl }, sent)?;
            if ttl > 3 {
                answer.said = Said::Error(reason);
            }
            Some((delay, answer))
        });
        assert_eq!(trace.end(0), End::Target(4), "{reason:?}");
        assert_eq!(found(&trace), [], "{reason:?}");
    }
}

/// Hop 2 refuses every third packet that it is to forward.
#[test]
fn a_refusal_of_some_packets_ends_no_path() {
    let mut settings = settings(&["be"]);
    settings.queries = 30;
    let trace = run(settings, &mut |sent, ttl, number| {
        let (delay, mut answer) = answer(if ttl > 3 { 0 } else { ttl }, sent)?;
        if ttl > 2 && number.is_multiple_of(3) {
            (answer.from, answer.said) = (address(2), Said::Error(Reason::Prohibited));
        }
        Some((delay, answer))
    });
    assert_eq!(trace.end(0), End::Target(4));
    let found = found(&trace);
    let [
        Finding::Refused {
            ttl: 3, by, share, ..
        },
    ] = &found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!((*by, share.of), (address(2), 60));
    assert!((18..=22).contains(&share.packets), "{share:?}");
}

#[test]
fn packets_that_go_round_say_between_which_hops() {
    // As far as `heard`, two routers that send packets to each other behind `before` others, or three.
    let around = |before: u8, length: u8, heard: u8| {
        let trace = run(settings(&["be"]), &mut |sent, ttl, _| {
            let router = match ttl.checked_sub(before + 1) {
                Some(behind) => before + 1 + behind % length,
                None => ttl,
            };
            (ttl <= heard).then(|| answer(router, sent)).flatten()
        });
        let found = found(&trace);
        let [Finding::NotReached { end, round, .. }] = &found[..] else {
            panic!("{found:?}");
        };
        (*end, round.clone())
    };
    let round = |hops: std::ops::RangeInclusive<u8>| Round {
        first: *hops.start(),
        last: *hops.end(),
        addresses: hops.map(address).collect(),
    };
    assert_eq!(around(0, 2, 30), (End::Beyond(30), Some(round(1..=2))));
    assert_eq!(around(3, 3, 30), (End::Beyond(30), Some(round(4..=6))));
    // Routers that limit their answers fall silent.
    assert_eq!(around(1, 2, 9), (End::Silent(9), Some(round(2..=3))));
    // One address at all distances is no round, nor is a path whose hops all differ.
    assert_eq!(around(2, 1, 30), (End::Beyond(30), None));
    assert_eq!(around(0, 40, 30), (End::Beyond(30), None));
}

#[test]
fn an_answer_behind_its_time_out_is_late_and_not_taken() {
    let mut settings = settings(&["be"]);
    (settings.max_ttl, settings.queries) = (1, 1);
    let mut trace = PathTrace::new(settings, address(0), 0).unwrap();
    let Step::Send(due) = trace.next(0) else {
        panic!("nothing is due");
    };
    trace.sent(due.number, 5);
    let (_, late) = answer(1, class("be")).unwrap();
    let at = SECOND + 6;
    assert!(!trace.answered(due.number, Answer { at, ..late.clone() }));
    assert_eq!(trace.next(at), Step::Done);
    assert!(trace.packets()[0].late && trace.packets()[0].answer.is_none());
    for nobodys in [0, 2, u16::MAX] {
        assert!(!trace.answered(nobodys, late.clone()));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |change: fn(&mut Settings)| {
        let mut settings = settings(&["be", "ef"]);
        change(&mut settings);
        PathTrace::new(settings, address(0), 0).err()
    };
    assert_eq!(refused(|s| s.classes.clear()), Some(SettingsError::NoClass));
    assert_eq!(
        refused(|s| s.first_ttl = 31),
        Some(SettingsError::FirstBehindLast {
            first: 31,
            last: 30
        })
    );
    assert_eq!(
        refused(|s| s.queries = 2000),
        Some(SettingsError::TooMany(120_000))
    );
    assert_eq!(refused(|_| ()), None);
}

proptest! {
    /// Whatever a network does: it ends, keeps its pace, and asks for no more than it was told to.
    #[test]
    fn any_network_is_traced_at_its_pace(
        seed: u64, hops in 1_u8..12, classes in 1_usize..4, at_once in 0_usize..3, first_ttl in 1_u8..4,
    ) {
        let mut settings = settings(&["be", "ef", "cs1"][..classes]);
        let at_once = [AtOnce::Many, AtOnce::OneAHop, AtOnce::One][at_once];
        (settings.at_once, settings.first_ttl) = (at_once, first_ttl);
        // A hash decides of each packet: lost, late, or by which of two routers it is answered.
        let mut net = |sent: Dscp, ttl: u8, number: usize| {
            let dice = seed.wrapping_mul(number as u64 | 1).rotate_left(17) ^ seed;
            let (mut delay, answer) = answer(if ttl > hops { 0 } else { ttl + 100 * (dice % 2) as u8 }, sent)?;
            match dice % 7 {
                0 => return None,
                1 => delay += SECOND,
                _ => (),
            }
            Some((delay, answer))
        };
        let trace = run(settings.clone(), &mut net);
        let packets = trace.packets();
        for pair in packets.windows(2) {
            prop_assert!(pair[1].sent_at - pair[0].sent_at >= settings.gap);
        }
        for ttl in 1..=settings.max_ttl {
            let times: Vec<_> = packets.iter().filter(|p| p.ttl == ttl).map(|p| p.sent_at).collect();
            prop_assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= settings.interval));
        }
        if at_once == AtOnce::One {
            let until = |packet: &Packet| packet.answer.as_ref().map_or(packet.sent_at + settings.timeout, |answer| answer.at);
            prop_assert!(packets.windows(2).all(|pair| pair[1].sent_at >= until(&pair[0])));
        }
        for path in ClassPath::of_every_class(&trace) {
            prop_assert!(!matches!(path.end, End::Stopped(_)));
            for hop in &path.hops {
                prop_assert!(hop.sent <= settings.queries.into());
                prop_assert!(hop.answered() + hop.late <= hop.sent);
            }
        }
        found(&trace);
    }
}
