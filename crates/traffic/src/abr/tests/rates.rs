//! What becomes of ACR.

use super::super::*;
use super::{backward, eprca, near};
use delaylab_model::PICOS_PER_SECOND as SECOND;
use delaylab_model::path::{AbrDecrease, AbrIdle};
use proptest::prelude::*;

const MBIT: f64 = 1e6 / CELL_BITS;

/// A source at this rate whose first forward RM cell left at 0.
fn at(mbit: f64, parameters: Parameters) -> Source {
    let mut source = Source::new(&parameters);
    source.send(0, true, None);
    let rm = ResourceManagement {
        explicit_rate: mbit * MBIT,
        ..backward(false)
    };
    (0..400).for_each(|_| source.on_backward(&rm));
    assert!(near(source.acr(), mbit * MBIT));
    source
}

/// Cells until the next forward RM cell, which leaves at `when`.
fn forward_at(source: &mut Source, when: u64) -> ResourceManagement {
    let rest = source.parameters().nrm - 1;
    for _ in 0..rest {
        let now = source.next_send();
        assert_eq!(source.send(now, true, None), Some(InRate::Data));
    }
    match source.send(when, true, None) {
        Some(InRate::ForwardRm(rm)) => rm,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_backward_rm_cell_takes_a_sixteenth_or_gives_pcr_over_256() {
    let mut source = at(100.0, eprca());
    source.on_backward(&backward(true));
    assert!(near(source.acr(), 93.75 * MBIT));
    source.on_backward(&backward(false));
    assert!(near(source.acr(), (93.75 + 32.0 * 0.01892) * MBIT));
    let held = source.acr();
    let hold = ResourceManagement {
        no_increase: true,
        ..backward(false)
    };
    source.on_backward(&hold);
    assert_eq!(source.acr(), held);
}

#[test]
fn it_stays_between_mcr_and_pcr() {
    let mut source = Source::new(&eprca());
    (0..1000).for_each(|_| source.on_backward(&backward(true)));
    assert_eq!(source.acr(), eprca().mcr);
    (0..1000).for_each(|_| source.on_backward(&backward(false)));
    assert_eq!(source.acr(), eprca().pcr);
}

#[test]
fn the_explicit_rate_holds_it_down() {
    let mut source = at(100.0, eprca());
    let rm = ResourceManagement {
        explicit_rate: 20.0 * MBIT,
        ..backward(false)
    };
    source.on_backward(&rm);
    assert!(near(source.acr(), 20.0 * MBIT));
    let rm = ResourceManagement {
        explicit_rate: 0.0,
        ..rm
    };
    source.on_backward(&rm);
    assert_eq!(source.acr(), eprca().mcr);
}

#[test]
fn per_cell_each_takes_and_an_uncongested_rm_cell_gives_back() {
    let per_cell = Parameters {
        decrease: AbrDecrease::PerCell,
        ..eprca()
    };
    let mut source = at(100.0, per_cell);
    let start = source.acr();
    forward_at(&mut source, SECOND);
    let after = start * (1.0 - 1.0 / 512.0_f64).powi(31);
    // The forward RM cell itself takes too, and use it or lose it came before it: back to ICR.
    assert!(near(source.acr(), per_cell.icr * (1.0 - 1.0 / 512.0)));
    assert!(after < start);
    let before = source.acr();
    source.on_backward(&backward(true));
    assert_eq!(source.acr(), before);
    source.on_backward(&backward(false));
    let given = before * (1.0 + 32.0 / 512.0) + 32.0 * per_cell.air;
    assert!(near(source.acr(), given));
}

#[test]
fn use_it_or_lose_it_by_tof() {
    // At 100 Mbit/s TOF·Nrm/ACR is 64 cells: 271.36 µs.
    let microsecond = SECOND / 1_000_000;
    let mut source = at(100.0, eprca());
    assert!(near(
        forward_at(&mut source, 271 * microsecond).current_rate,
        100.0 * MBIT
    ));
    let mut source = at(100.0, eprca());
    // ACR·T·TDF: 100·400 µs·512 /s = 20.48 Mbit/s.
    assert!(near(
        forward_at(&mut source, 400 * microsecond).current_rate,
        79.52 * MBIT
    ));
    let mut source = at(100.0, eprca());
    assert_eq!(forward_at(&mut source, SECOND).current_rate, eprca().icr);
    // Below ICR nothing is lost.
    let mut source = at(5.0, eprca());
    assert!(near(
        forward_at(&mut source, SECOND).current_rate,
        5.0 * MBIT
    ));
}

#[test]
fn use_it_or_lose_it_by_adtf_and_not_at_all() {
    let idle = |idle| Parameters { idle, ..eprca() };
    let mut source = at(100.0, idle(AbrIdle::Adtf));
    assert!(near(
        forward_at(&mut source, SECOND / 2).current_rate,
        100.0 * MBIT
    ));
    let mut source = at(100.0, idle(AbrIdle::Adtf));
    assert_eq!(
        forward_at(&mut source, SECOND / 2 + 1).current_rate,
        eprca().icr
    );
    let mut source = at(100.0, idle(AbrIdle::None));
    assert!(near(
        forward_at(&mut source, 100 * SECOND).current_rate,
        100.0 * MBIT
    ));
}

#[test]
fn silence_from_the_other_end_halves_it_at_each_forward_rm_cell() {
    let parameters = Parameters {
        idle: AbrIdle::None,
        ..eprca()
    };
    let mut source = at(100.0, parameters);
    let rates = |source: &mut Source, count: usize| -> Vec<f64> {
        let mut next = || {
            let when = source.next_send() + SECOND;
            forward_at(source, when).current_rate / MBIT
        };
        (0..count).map(|_| next()).collect()
    };
    // The first left when the source was made; `at` answered it. 32 more are not yet too many.
    let seen = rates(&mut source, 32);
    assert!(seen.iter().all(|&rate| near(rate, 100.0)), "{seen:?}");
    let seen = rates(&mut source, 9);
    assert!(near(seen[0], 50.0) && near(seen[1], 25.0), "{seen:?}");
    assert_eq!(source.acr(), eprca().mcr);
    // One of a switch's does not count as an answer.
    let notification = ResourceManagement {
        notification: true,
        explicit_rate: 50.0 * MBIT,
        ..backward(false)
    };
    (0..400).for_each(|_| source.on_backward(&notification));
    assert!(near(rates(&mut source, 1)[0], 25.0));
    source.on_backward(&backward(true));
    let held = source.acr();
    assert!(near(rates(&mut source, 1)[0] * MBIT, held));
}

proptest! {
    #[test]
    fn always_between_mcr_and_pcr_and_rm_cells_in_time(
        steps in proptest::collection::vec(
            (0_u8..4, 0_u64..SECOND / 5, any::<[bool; 3]>(), 0.0..500_000.0_f64), 1..400),
        per_cell in any::<bool>(),
        idle in 0..3,
        mcr in 0.0..20_000.0_f64,
    ) {
        let parameters = Parameters {
            decrease: if per_cell { AbrDecrease::PerCell } else { AbrDecrease::PerRm },
            idle: [AbrIdle::Tof, AbrIdle::Adtf, AbrIdle::None][idle as usize],
            mcr,
            ..eprca()
        };
        let mut source = Source::new(&parameters);
        let (mut now, mut since, mut last) = (0, None, None::<u64>);
        for (step, wait, [a, b, c], explicit_rate) in steps {
            match step {
                0 => now += wait,
                1 => source.on_backward(&ResourceManagement {
                    notification: a, no_increase: b, explicit_rate, ..backward(c)
                }),
                _ => now = now.max(source.next_send().min(now + SECOND)),
            }
            let back = a.then(|| backward(b));
            let allowed = source.next_send();
            if let Some(cell) = source.send(now, true, back) {
                prop_assert!(allowed <= now);
                prop_assert!(last.is_none_or(|last| now > last));
                last = Some(now);
                let forward = matches!(cell, InRate::ForwardRm(_));
                prop_assert!(forward || since.is_some());
                since = if forward { Some(0) } else { since.map(|n: u32| n + 1) };
                prop_assert!(since.unwrap_or(0) < parameters.nrm);
            }
            let acr = source.acr();
            prop_assert!(acr >= parameters.mcr && acr <= parameters.pcr, "{}", acr);
        }
    }
}
