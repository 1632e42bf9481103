//! CPU lists as the kernel writes them: `0-3,5`.

use std::collections::BTreeSet;

/// CPUs by number, in order.
pub type Cpus = BTreeSet<usize>;

/// Reads `0-3,5`. `None` where the text is no such list.
pub fn parse(text: &str) -> Option<Cpus> {
    let mut cpus = Cpus::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MAX_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Writes `0-3,5`.
pub fn format(cpus: &Cpus) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let texts: Vec<String> = ranges.into_iter().map(range_text).collect();
    texts.join(",")
}

fn range_text((first, last): (usize, usize)) -> String {
    if first == last {
        first.to_string()
    } else {
        format!("{first}-{last}")
    }
}

/// No Linux has more; a list beyond it is not worth the memory to hold.
const MAX_CPUS: usize = 8192;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        assert_eq!(parse("0-2,5\n").unwrap(), Cpus::from([0, 1, 2, 5]));
        assert_eq!(parse("").unwrap(), Cpus::new());
        for bad in ["a", "3-1", "1-", "0-99999999", "1--2"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(cpus in prop::collection::btree_set(0usize..300, 0..60)) {
            prop_assert_eq!(parse(&format(&cpus)), Some(cpus));
        }
    }
}
