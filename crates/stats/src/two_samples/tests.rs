//! Distances by hand and by property; p values by simulation with fixed seeds.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::random::SplitMix;
use crate::testing::ar1;
use proptest::prelude::*;

#[test]
fn by_hand() {
    // Pairs with B larger: 1 < 2, 1 < 5, 3 < 5, 4 < 5; one tie, 4 = 4, and 1 < 4, 3 < 4.
    let found = compare(&[&[1.0, 3.0, 4.0]], &[&[2.0, 4.0, 5.0]], 1).unwrap();
    assert_eq!(found.mann_whitney.u, 6.5);
    assert!((found.kolmogorov_smirnov.value - 1.0 / 3.0).abs() < 1e-12);
    assert!((found.wasserstein.value - 1.0).abs() < 1e-12);
    let series = |values: &'static [f64]| [Series::from(values)];
    let shifts = shifts(
        &SHIFTS,
        &series(&[1.0, 3.0, 4.0]),
        &series(&[2.0, 4.0, 5.0]),
        1,
    );
    assert_eq!(found.kolmogorov_smirnov.least_p, 1.0);
    assert!(found.mann_whitney.p.is_err() && shifts[2].absolute.is_err());
    assert_eq!(shifts[2].difference(), Some(1.0));
    // Variance 9/12·(7 − 6/30) = 5.1.
    let z = found.mann_whitney.z.unwrap();
    assert!((z - 2.0 / 5.1_f64.sqrt()).abs() < 1e-12, "{z}");
}

#[test]
fn nothing_cannot_be_compared() {
    assert!(compare(&[&[1.0]], &[], 1).is_err());
    assert!(compare(&[&[f64::NAN]], &[&[1.0]], 1).is_err());
    let same = compare(&[&[2.0; 100]], &[&[2.0; 50]], 1).unwrap();
    assert_eq!(
        (same.mann_whitney.share_less, same.mann_whitney.z),
        (0.5, None)
    );
    assert_eq!(same.wasserstein.least_p, 1.0 / 1001.0);
    assert_eq!((same.wasserstein.value, same.wasserstein.p), (0.0, Ok(1.0)));
}

/// Share of pairs of series, B moved by so much, with p below 5 %: of U, D and W₁.
fn alarms(phi: f64, count: usize, moved: f64, runs: u64) -> [f64; 3] {
    let mut alarms = [0.0; 3];
    for seed in 0..runs {
        let a = ar1(phi, count, 2 * seed);
        let b: Vec<f64> = ar1(phi, count, 2 * seed + 1)
            .iter()
            .map(|x| x + moved)
            .collect();
        let found = compare(&[&a], &[&b], seed).unwrap();
        let p = [
            found.mann_whitney.p,
            found.kolmogorov_smirnov.p,
            found.wasserstein.p,
        ];
        for (alarms, p) in alarms.iter_mut().zip(p) {
            *alarms += f64::from(u8::from(p.is_ok_and(|p| p <= 0.05))) / runs as f64;
        }
    }
    alarms
}

/// 5 % and three standard errors of what this number of runs shows of it.
#[test]
fn p_is_right_for_correlated_series() {
    p_is_right(30, 0.17);
}

fn p_is_right(runs: u64, most: f64) {
    for (phi, count) in [(0.0, 100), (0.5, 300), (0.9, 1500)] {
        let found = alarms(phi, count, 0.0, runs);
        assert!(found.iter().all(|&share| share <= most), "{phi}: {found:?}");
    }
}

#[test]
fn what_differs_is_told() {
    for (phi, count, moved) in [(0.0, 200, 0.5), (0.5, 500, 0.5), (0.9, 2000, 0.9)] {
        let found = alarms(phi, count, moved, 40);
        assert!(found.iter().all(|&share| share >= 0.85), "{phi}: {found:?}");
    }
}

fn measured(trials: &[Vec<f64>]) -> Vec<Series<'_>> {
    let each = trials.iter().map(Vec::as_slice);
    each.map(Series::from).collect()
}

#[test]
fn shifts_of_trials_have_intervals() {
    let series = |seed: u64, level: f64| -> Vec<f64> {
        ar1(0.3, 2000, seed)
            .iter()
            .map(|x| 100.0 + level + x)
            .collect()
    };
    let a: Vec<Vec<f64>> = (1..5).map(|seed| series(seed, 0.0)).collect();
    let b: Vec<Vec<f64>> = (5..9).map(|seed| series(seed, 10.0)).collect();
    let (a, b) = (measured(&a), measured(&b));
    for shift in &shifts(&SHIFTS, &a, &b, 1)[..5] {
        let absolute = shift.absolute.clone().unwrap();
        assert!(absolute.low <= 10.0 && 10.0 <= absolute.high, "{shift:?}");
        let relative = shift.relative.clone().unwrap();
        assert!(relative.low > 0.08 && relative.high < 0.12, "{shift:?}");
    }
}

/// Delays of an AR(1) as one trial has them, where packets resemble each other too much for an interval.
fn wandering(phi: f64, level: f64, sd: f64, seed: u64) -> Vec<f64> {
    let series = ar1(phi, 300, seed).into_iter();
    series.map(|x| level + sd * x).collect()
}

fn median_moves(a: &[f64], b: &[f64]) -> Result<bool, String> {
    let found = shift(Functional::Quantile(0.5), &[a.into()], &[b.into()], 1);
    let bounds = found.absolute?;
    Ok(bounds.low > 0.0 || bounds.high < 0.0)
}

#[test]
fn medians_far_apart_are_told_however_much_packets_resemble_each_other() {
    for seed in 0..20 {
        let (a, b) = (
            wandering(0.95, 0.13, 0.01, seed),
            wandering(0.95, 8.2, 0.05, seed + 100),
        );
        assert_eq!(median_moves(&a, &b), Ok(true));
        assert_eq!(median_moves(&b, &a), Ok(true));
        let [of_a, of_b] = [&a, &b].map(|side| Series::from(side.as_slice()));
        let found = shift(Functional::Quantile(0.5), &[of_a], &[of_b], 1);
        let (absolute, relative) = (found.absolute.unwrap(), found.relative.unwrap());
        assert!(absolute.low < 8.07 && 8.07 < absolute.high, "{absolute:?}");
        assert!(
            relative.low > 20.0 && relative.low < 62.0 && relative.high > 62.0,
            "{relative:?}"
        );
    }
}

/// A queue that runs away: its delays have no level, and hardly one is like one of the other side.
#[test]
fn a_side_that_only_rises_is_told_from_a_steady_one() {
    let steady: Vec<f64> = ar1(0.0, 600, 1).iter().map(|x| 6.0 + 0.1 * x).collect();
    let rising: Vec<f64> = (0..600).map(|n| 2000.0 * f64::from(n) / 599.0).collect();
    let found = shift(
        Functional::Quantile(0.5),
        &[steady.as_slice().into()],
        &[rising.as_slice().into()],
        1,
    );
    let absolute = found.absolute.unwrap();
    assert!(absolute.low > 50.0 && absolute.high > 994.0, "{absolute:?}");
    let apart = found.apart.unwrap();
    assert!(apart.drifts[0].is_none() && apart.least(0.9999) == 0.0);
    let drift = apart.drifts[1].unwrap();
    assert!(drift.from < 150.0 && drift.to > 1850.0, "{drift:?}");
    let of_rising = median_within(&[rising.as_slice().into()]).unwrap();
    assert!((450.0..550.0).contains(&of_rising.low), "{of_rising:?}");
    assert_eq!(median_within(&[steady.as_slice().into()]), None);
    // Two that rise from the same level to the same level.
    let other: Vec<f64> = rising.iter().map(|x| x + 100.0).collect();
    let [a, b] = [&rising, &other].map(|side| Series::from(side.as_slice()));
    let found = shift(Functional::Quantile(0.5), &[a], &[b], 1);
    assert!(found.absolute.is_err(), "{found:?}");
}

/// Three trials of 500 packets a side, of which these shares are lost, each packet by itself; those of trials vary by this part of
/// it. Is that told among four figures?
fn loss_is_told(shares: [f64; 2], varying: f64, seed: u64) -> bool {
    let lost = Functional::Share {
        beyond: crate::beyond::Beyond::More,
        bound: 0.5,
    };
    let mut random = SplitMix::new(seed);
    let sides = shares.map(|share| -> Vec<Vec<f64>> {
        let mut trial = || -> Vec<f64> {
            let own = share * (varying * random.normal() - varying * varying / 2.0).exp();
            let mut packet = || f64::from(u8::from(random.uniform() < own));
            (0..500).map(|_| packet()).collect()
        };
        (0..3).map(|_| trial()).collect()
    });
    let found = shift(lost, &measured(&sides[0]), &measured(&sides[1]), seed);
    let difference = found.difference().unwrap();
    let bounds = found.absolute.unwrap();
    let reach = match difference > 0.0 {
        true => difference - bounds.low,
        false => bounds.high - difference,
    };
    difference != 0.0 && difference.abs() > bounds.stretch(1.0 - 0.05 / 4.0) * reach
}

#[test]
fn loss_that_differs_by_more_than_trials_do_is_told() {
    const RUNS: u64 = 200;
    let told = |shares, varying| {
        let told = (0..RUNS).filter(|&seed| loss_is_told(shares, varying, seed));
        told.count()
    };
    let some = told([0.0, 0.02], 0.0);
    assert!(some >= 198, "{some}");
    let more = told([0.01, 0.05], 0.0);
    assert!(more >= 140, "{more}");
    // At most one in eighty.
    for varying in [0.0, 0.3, 1.0] {
        let same = told([0.02, 0.02], varying);
        assert!(same <= 5, "{varying}: {same}");
    }
}

/// Nothing is shorter by more than all of it.
#[test]
fn no_interval_of_a_delay_reaches_below_none() {
    let mut random = SplitMix::new(5);
    for trials in [1, 2, 4] {
        let mut side = || -> Vec<Vec<f64>> {
            let mut trial = || {
                let level = 50.0 * random.uniform();
                let mut delay = || level + 5.0 * random.uniform().powf(-1.0 / 1.2);
                (0..300).map(|_| delay()).collect()
            };
            (0..trials).map(|_| trial()).collect()
        };
        let (a, b) = (side(), side());
        let largest = a.concat().into_iter().fold(0.0, f64::max);
        for found in shifts(&SHIFTS, &measured(&a), &measured(&b), 1) {
            let least = found.absolute.map_or(0.0, |bounds| bounds.low);
            assert!(least >= -largest, "{trials} {:?}", found.statistic);
            let least = found.relative.map_or(0.0, |bounds| bounds.low);
            assert!(least >= -1.0, "{trials} {:?}", found.statistic);
        }
    }
}

/// However many figures are looked at: that of another pair, which does not differ, hides none.
#[test]
fn medians_so_far_apart_are_told_among_several_figures() {
    let mut told = 0;
    for seed in 0..20 {
        let (a, b) = (
            wandering(0.95, 14.0, 1.0, seed),
            wandering(0.95, 22.0, 0.1, seed + 100),
        );
        let [of_a, of_b] = [&a, &b].map(|side| Series::from(side.as_slice()));
        let found = shift(Functional::Quantile(0.5), &[of_a], &[of_b], 1);
        let Ok(bounds) = &found.absolute else {
            continue;
        };
        told += 1;
        let difference = found.difference().unwrap();
        let reach = bounds.stretch(1.0 - 0.05 / 40.0) * (difference - bounds.low);
        assert!(difference > reach, "{found:?}");
    }
    assert!(told > 5, "{told}");
}

/// Two trials a side whose levels vary in one of them leave the interval one degree of freedom: among several figures it reaches
/// zero, though all of B is far beyond all of A.
#[test]
fn medians_far_apart_are_told_where_trials_leave_few_degrees_of_freedom() {
    let mut hidden = 0;
    for seed in 0..20 {
        let mut random = SplitMix::new(seed);
        let mut side = |level: f64, sd: f64| -> Vec<Vec<f64>> {
            let mut trial = || -> Vec<f64> {
                let level = level + sd * random.normal();
                (0..100)
                    .map(|_| level - 0.2 * random.uniform().ln())
                    .collect()
            };
            (0..2).map(|_| trial()).collect()
        };
        let (a, b) = (side(14.0, 0.5), side(24.0, 0.05));
        let (a, b) = (measured(&a), measured(&b));
        let found = shift(Functional::Quantile(0.5), &a, &b, 1);
        let (difference, bounds) = (found.difference().unwrap(), found.absolute.unwrap());
        let confidence = 1.0 - 0.05 / 4.0;
        hidden += usize::from(bounds.stretch(confidence) * (difference - bounds.low) > difference);
        assert!(bounds.low > 0.0, "{bounds:?}");
        assert!(difference > found.apart.unwrap().least(confidence));
    }
    assert!(hidden > 5, "{hidden}");
}

#[test]
fn medians_of_one_wander_are_seldom_told_apart() {
    for phi in [0.9, 0.95, 0.98] {
        let runs = 0..100;
        let of = |seed: u64| {
            (
                wandering(phi, 10.0, 1.0, seed),
                wandering(phi, 10.0, 1.0, seed + 1_000),
            )
        };
        let told = runs.filter(|&seed| {
            let (a, b) = of(seed);
            median_moves(&a, &b) == Ok(true)
        });
        let told = told.count();
        assert!(told <= 5, "{phi}: {told}");
    }
}

/// Two runs of one seed: B's packets are all later by as much, which shows where the spread of the packets would hide it.
#[test]
fn simulations_of_one_seed_are_compared_packet_by_packet() {
    let series = |seed: u64, by: f64| -> Vec<f64> {
        let delays = ar1(0.5, 1000, seed);
        delays.iter().map(|x| 100.0 + 10.0 * x + by).collect()
    };
    for repeats in [1, 2, 4] {
        let [a, b] = [0.0, 0.1].map(|by| -> Vec<Vec<f64>> {
            let seeds = 0..repeats;
            seeds.map(|seed| series(seed, by)).collect()
        });
        for is_simulated in [false, true] {
            let [a, b] = [&a, &b].map(|side| -> Vec<Series<'_>> {
                let each = side.iter().zip(0..);
                each.map(|(values, seed)| Series {
                    values,
                    seed: is_simulated.then_some(seed),
                })
                .collect()
            });
            for shift in &shifts(&SHIFTS, &a, &b, 1)[..3] {
                let bounds = shift.absolute.clone().unwrap();
                let width = bounds.high - bounds.low;
                let (low, high) = (bounds.low - 1e-9, bounds.high + 1e-9);
                assert!(low <= 0.1 && 0.1 <= high, "{shift:?}");
                assert_eq!(is_simulated, width < 1e-9, "{repeats}: {shift:?}");
            }
        }
    }
}

/// Trials of one side whose packets resemble each other so much that the trials stand for them, and of the other side whose
/// packets do not.
#[test]
fn a_side_that_is_judged_by_its_trials_leaves_the_other_one_its_packets() {
    for same_seeds in [false, true] {
        let [a, b] = [(0.3, 28.0, 0.4), (0.99, 357.0, 40.0)].map(|(phi, level, sd)| {
            let seeds = (0..5).map(|trial| trial + (1000.0 * phi) as u64);
            let trial = |seed| -> Vec<f64> {
                let series = ar1(phi, 240, seed).into_iter();
                series.map(|x| level + sd * x).collect()
            };
            seeds.map(trial).collect::<Vec<_>>()
        });
        let [a, b] = [&a, &b].map(|side| -> Vec<Series<'_>> {
            let each = side.iter().zip(0..);
            let series = each.map(|(values, seed)| Series {
                values,
                seed: same_seeds.then_some(seed),
            });
            series.collect()
        });
        for (from, to, by) in [(&a, &b, 329.0), (&b, &a, -329.0)] {
            for shift in &shifts(&SHIFTS, from, to, 1)[..3] {
                let bounds = shift.absolute.clone().unwrap();
                assert!(bounds.low * bounds.high > 0.0, "{same_seeds}: {shift:?}");
                let is_middle = shift.statistic == Functional::Quantile(0.5);
                let holds = bounds.low <= by && by <= bounds.high;
                assert!(holds || !is_middle, "{same_seeds}: {shift:?}");
            }
        }
    }
}

/// Trials of a side at levels that differ by factors, as where a class shares the queue of others.
fn at_levels(levels: &[f64], seed: u64) -> Vec<Vec<f64>> {
    let mut random = SplitMix::new(seed);
    let levels = levels.iter();
    levels
        .map(|level| {
            (0..200)
                .map(|_| level * (1.0 + 0.01 * random.normal()))
                .collect()
        })
        .collect()
}

#[test]
fn sides_whose_trials_differ_by_factors_are_told_apart_by_their_logarithms() {
    let a = at_levels(&[90.0, 250.0, 310.0], 1);
    let b = at_levels(&[8.3, 8.4, 8.6], 2);
    let (a, b) = (measured(&a), measured(&b));
    for (from, to) in [(&a, &b), (&b, &a)] {
        for shift in &shifts(&SHIFTS, from, to, 1)[..4] {
            let bounds = shift.absolute.clone().unwrap();
            assert!(bounds.low * bounds.high > 0.0, "{shift:?}");
            let by = shift.difference().unwrap();
            assert!(bounds.low <= by && by <= bounds.high, "{shift:?}");
            assert!(
                shift.levels.unwrap().are_apart(1.0 - 0.05 / 4.0),
                "{shift:?}"
            );
        }
    }
}

/// Trials of 1, 3 and 9 spread as far as their mean, which is short all the same where the other side's is 500.
#[test]
fn a_change_relative_to_a_side_that_spreads_is_judged_by_logarithms() {
    let a = at_levels(&[1.0, 3.0, 9.0], 1);
    let b = at_levels(&[500.0, 505.0, 510.0], 2);
    let found = shift(Functional::Mean, &measured(&a), &measured(&b), 1);
    let [absolute, relative] = [&found.absolute, &found.relative].map(|it| it.as_ref().unwrap());
    assert!(absolute.low > 0.0 && relative.low > 0.0, "{found:?}");
}

#[test]
fn trials_of_one_law_that_differ_by_factors_are_seldom_told_apart() {
    let alarm = |seed: &u64| {
        let mut random = SplitMix::new(seed + 500);
        let levels: Vec<f64> = (0..8).map(|_| 100.0 * random.normal().exp()).collect();
        let trials = at_levels(&levels, *seed);
        let trials = measured(&trials);
        let (a, b) = trials.split_at(4);
        let found = shift(Functional::Quantile(0.5), a, b, *seed);
        found.levels.is_some_and(|levels| levels.are_apart(0.95))
    };
    assert!((0..200).filter(alarm).count() <= 3);
}

/// Half of the trials of one side are short and half are long: their logarithms are shorter than the other side's, their mean is not.
#[test]
fn a_side_whose_trials_spread_is_not_told_from_its_mean() {
    let a = at_levels(&[100.0; 30], 1);
    let b = at_levels(&[10.0, 188.0].repeat(15), 2);
    let found = shift(Functional::Mean, &measured(&a), &measured(&b), 1);
    assert!(!found.levels.unwrap().are_apart(0.95), "{found:?}");
}

/// Of pairs of runs of one law, so many are called different at 95 %; each of five trials whose packets resemble each other
/// more in one run than in the other.
#[test]
fn trials_of_slow_delays_of_one_law_are_seldom_called_different() {
    const RUNS: u64 = 60;
    for phis in [[0.95, 0.95], [0.98, 0.98], [0.7, 0.98]] {
        for levels in [0.0, 3.0] {
            let alarm = |run: &u64| {
                let mut random = SplitMix::new(run + 1000);
                let side = |phi, first: u64, random: &mut SplitMix| -> Vec<Vec<f64>> {
                    let seeds = (0..5).map(|trial| 20 * run + first + trial);
                    let trial = |seed| {
                        let level = 100.0 + levels * random.normal();
                        ar1(phi, 240, seed).iter().map(|x| level + x).collect()
                    };
                    seeds.map(trial).collect()
                };
                let [a, b] =
                    [(phis[0], 0), (phis[1], 10)].map(|(phi, first)| side(phi, first, &mut random));
                let (a, b) = (measured(&a), measured(&b));
                let found = shift(Functional::Quantile(0.5), &a, &b, *run);
                let bounds = found.absolute.unwrap();
                bounds.low > 0.0 || bounds.high < 0.0
            };
            let alarms = (0..RUNS).filter(alarm).count();
            // At 5 %, 3 on average, and more than 6 in 3 of 100 cases.
            assert!(alarms <= 6, "{phis:?} {levels}: {alarms}");
        }
    }
}

/// Of pairs of runs of one law, so many are called different at 95 %; each of four trials with levels of their own.
fn false_alarms(next: fn(&mut SplitMix, &mut f64) -> f64, levels: f64) -> usize {
    const RUNS: u64 = 40;
    let alarm = |seed: &u64| {
        let mut random = SplitMix::new(seed + 1000);
        let trials: Vec<Vec<f64>> = (0..8)
            .map(|_| {
                let level = 1.0 + levels * random.normal();
                let mut state = random.normal();
                let mut value = || level * (100.0 + next(&mut random, &mut state));
                (0..150).map(|_| value()).collect()
            })
            .collect();
        let trials = measured(&trials);
        let (a, b) = trials.split_at(4);
        let found = shift(Functional::Quantile(0.5), a, b, *seed);
        let bounds = found.absolute.unwrap();
        bounds.low > 0.0 || bounds.high < 0.0
    };
    (0..RUNS).filter(alarm).count()
}

/// `examples/false_alarms.rs` has more laws, more runs and every statistic.
#[test]
fn four_trials_of_one_law_are_seldom_called_different() {
    let independent = |random: &mut SplitMix, _: &mut f64| -50.0 * random.uniform().ln();
    let memory = |random: &mut SplitMix, state: &mut f64| {
        *state = 0.7 * *state + 0.51_f64.sqrt() * random.normal();
        44.0 * (*state / 2.0).exp()
    };
    let tail = |random: &mut SplitMix, _: &mut f64| 17.0 * random.uniform().powf(-1.0 / 1.5);
    let laws: [fn(&mut SplitMix, &mut f64) -> f64; 3] = [independent, memory, tail];
    for levels in [0.0, 0.03, 0.1] {
        let alarms = laws.map(|law| false_alarms(law, levels));
        // At 5 %, 6 of 120 on average, and more than 10 in 4 of 100 cases; to use the spread of trials only where it
        // is significant gave 15 at 3 %.
        let all: usize = alarms.iter().sum();
        assert!(all <= 6, "{levels}: {alarms:?}");
    }
}

/// Whole trials stand in the place of their few packets.
#[test]
fn trials_of_few_packets_of_one_law_are_seldom_called_different() {
    const RUNS: u64 = 200;
    let lost = Functional::Share {
        beyond: crate::beyond::Beyond::More,
        bound: 0.5,
    };
    let median = Functional::Quantile(0.5);
    let delay = |random: &mut SplitMix| 100.0 - 50.0 * random.uniform().ln();
    let tail = |random: &mut SplitMix| 17.0 * random.uniform().powf(-1.0 / 1.5);
    let loss = |random: &mut SplitMix| f64::from(u8::from(random.uniform() < 0.15));
    type Law = fn(&mut SplitMix) -> f64;
    let laws: [(Functional, Law, usize); 6] = [
        (Functional::Mean, delay, 5),
        (Functional::Mean, tail, 5),
        (median, delay, 5),
        (median, tail, 1),
        (lost, loss, 5),
        (lost, loss, 3),
    ];
    for (functional, law, packets) in laws {
        let trials = if packets == 1 { 16 } else { 4 };
        let alarm = |seed: &u64| {
            let mut random = SplitMix::new(seed + 1000);
            let mut trial = || (0..packets).map(|_| law(&mut random)).collect::<Vec<f64>>();
            let all: Vec<Vec<f64>> = (0..2 * trials).map(|_| trial()).collect();
            let all = measured(&all);
            let (a, b) = all.split_at(trials);
            let bounds = shift(functional, a, b, *seed).absolute.unwrap();
            bounds.low > 0.0 || bounds.high < 0.0
        };
        let share = (0..RUNS).filter(alarm).count() as f64 / RUNS as f64;
        // 5 % and two standard errors of what this number of runs shows of it.
        assert!(share <= 0.08, "{functional:?} of {packets}: {share}");
    }
}

proptest! {
    #[test]
    fn distances_hold_what_they_are_defined_by(
        a in proptest::collection::vec(-20_i32..20, 1..30),
        b in proptest::collection::vec(-20_i32..20, 1..30),
    ) {
        let floats = |values: &[i32]| -> Vec<f64> { values.iter().map(|&x| f64::from(x)).collect() };
        let (x, y) = (floats(&a), floats(&b));
        let pooled = Pooled::new(&[&x], &[&y]);
        let found = pooled.distances(&pooled.sides());
        let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
        let half = |(a, b): (&i32, &i32)| if a < b { 1.0 } else if a == b { 0.5 } else { 0.0 };
        let share = pairs.map(half).sum::<f64>() / (a.len() * b.len()) as f64;
        prop_assert!((found.share_less - share).abs() < 1e-12);
        let at = |values: &[i32], x: i32| {
            values.iter().filter(|&&v| v <= x).count() as f64 / values.len() as f64
        };
        let apart = (-21..20).map(|x| (at(&a, x) - at(&b, x)).abs());
        prop_assert!((found.largest - apart.clone().fold(0.0, f64::max)).abs() < 1e-12);
        prop_assert!((found.mean - apart.sum::<f64>()).abs() < 1e-9);
    }
}

/// The same with more runs, in `make test-all`.
mod long {
    #[test]
    fn p_is_right_for_a_hundred_correlated_series() {
        super::p_is_right(100, 0.12);
    }
}
