//! A distribution of times in little memory: counts in buckets that widen with the value.
//!
//! Times below 32 ns are kept exactly; above, each octave is cut into 32 buckets, so that a percentile is rounded up
//! by less than 1 part in 32. The first few different buckets are kept as a list, since most of 65,536 threads see few
//! different latencies; behind that, counts lie side by side from the first bucket to the last, so that counting costs
//! the same however many there are. Never uses a float.

use crate::result::Percentiles;
use hls_units::Nanos;

/// Buckets in an octave, as a power of two.
const SUB_BITS: u32 = 5;
/// Buckets in an octave.
const SUB_BUCKETS: u64 = 1 << SUB_BITS;
/// How many different buckets are kept as a list.
const FEW: usize = 12;
/// How many samples are gathered before they are counted.
const BATCH: usize = 6;

/// Counts of times. Empty by default. A count stays at `u32::MAX` when it gets there.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// The first bucket of `counts` when `many`.
    first: u16,
    /// Whether counts lie side by side.
    many: bool,
    /// How many entries of `gathered` are in use.
    nr_gathered: u8,
    /// Buckets of samples that are still to be counted.
    gathered: [u16; BATCH],
    /// Counts of the buckets from `first` on when `many`; else pairs of a bucket and its count, in any order. Small, so
    /// that the counts of many threads fit a cache; what a count cannot hold is in `carried`.
    counts: Vec<u16>,
    carried: Option<Box<Carried>>,
    worst: Nanos,
}

/// Buckets and multiples of 65,536 to be added to their counts. Few histograms have any, so they stand apart.
#[derive(Clone, Debug, Default)]
struct Carried {
    sums: Vec<(u16, u32)>,
}

impl Histogram {
    /// Counts `time`.
    pub fn add(&mut self, time: Nanos) {
        self.worst = self.worst.max(time);
        self.gathered[usize::from(self.nr_gathered)] = bucket_of(time);
        self.nr_gathered += 1;
        if usize::from(self.nr_gathered) == BATCH {
            self.count_gathered();
        }
    }

    /// Counts all that the other has counted.
    pub fn add_all(&mut self, other: &Histogram) {
        self.worst = self.worst.max(other.worst);
        other.sorted().into_iter().for_each(|(bucket, times)| self.add_to(bucket, times));
        other.gathered[..usize::from(other.nr_gathered)].iter().for_each(|&bucket| self.add_to(bucket, 1));
    }

    fn count_gathered(&mut self) {
        for place in 0..std::mem::take(&mut self.nr_gathered) {
            self.add_to(self.gathered[usize::from(place)], 1);
        }
    }

    fn add_to(&mut self, bucket: u16, times: u32) {
        let place = self.place_of(bucket);
        let total = u32::from(self.counts[place]).saturating_add(times);
        self.counts[place] = total as u16;
        if total > u32::from(u16::MAX) {
            self.carry(bucket, total & !u32::from(u16::MAX));
        }
    }

    fn carry(&mut self, bucket: u16, times: u32) {
        let sums = &mut self.carried.get_or_insert_default().sums;
        match sums.iter_mut().find(|(other, _)| *other == bucket) {
            Some((_, sum)) => *sum = sum.saturating_add(times),
            None => sums.push((bucket, times)),
        }
    }

    /// Where the count of a bucket is; a bucket without a count gets one.
    fn place_of(&mut self, bucket: u16) -> usize {
        if !self.many {
            if let Some(pair) = self.counts.chunks_exact(2).position(|pair| pair[0] == bucket) {
                return 2 * pair + 1;
            }
            if self.counts.len() < 2 * FEW {
                self.counts.extend([bucket, 0]);
                return self.counts.len() - 1;
            }
            self.spread_out();
        }
        if bucket < self.first {
            let missing = usize::from(self.first - bucket);
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let place = usize::from(bucket - self.first);
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        place
    }

    /// From pairs to counts that lie side by side.
    fn spread_out(&mut self) {
        let mut pairs: Vec<(u16, u16)> = self.counts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        pairs.sort_unstable();
        self.many = true;
        self.first = pairs.first().map_or(0, |&(bucket, _)| bucket);
        self.counts.clear();
        pairs.into_iter().for_each(|(bucket, times)| self.add_to(bucket, times.into()));
    }

    /// The buckets that hold something, in order.
    fn sorted(&self) -> Vec<(u16, u32)> {
        let mut counts: Vec<(u16, u32)> = match self.many {
            true => (self.first..).zip(self.counts.iter().map(|&times| times.into())).collect(),
            false => self.counts.chunks_exact(2).map(|pair| (pair[0], pair[1].into())).collect(),
        };
        counts.sort_unstable();
        for &(bucket, times) in self.carried.iter().flat_map(|carried| &carried.sums) {
            if let Ok(place) = counts.binary_search_by_key(&bucket, |&(bucket, _)| bucket) {
                counts[place].1 = counts[place].1.saturating_add(times);
            }
        }
        counts.retain(|&(_, times)| times > 0);
        counts
    }

    /// The summary; all zero when nothing was counted.
    pub fn percentiles(&self) -> Percentiles {
        let mut all = self.clone();
        all.count_gathered();
        all.of_counted()
    }

    fn of_counted(&self) -> Percentiles {
        let buckets = self.sorted();
        let count = buckets.iter().map(|&(_, times)| u64::from(times)).sum();
        let at = |per_mille| self.at_rank_ceil(&buckets, rank_ceil(count, per_mille));
        Percentiles {
            count,
            p50: at(500),
            p90: at(900),
            p99: at(990),
            p999: at(999),
            worst: self.worst,
            worst_is_open: false,
        }
    }

    /// The time that `rank` samples (counted from 1) do not exceed, rounded up to the end of its bucket.
    fn at_rank_ceil(&self, buckets: &[(u16, u32)], rank: u64) -> Nanos {
        let mut seen = 0;
        for &(bucket, times) in buckets {
            seen += u64::from(times);
            if seen >= rank {
                return last_of(bucket).min(self.worst);
            }
        }
        self.worst
    }
}

/// How many of `count` samples make up `per_mille` thousandths of them, rounded up.
fn rank_ceil(count: u64, per_mille: u32) -> u64 {
    let rank = (u128::from(count) * u128::from(per_mille)).div_ceil(1_000);
    u64::try_from(rank).unwrap_or(u64::MAX)
}

/// The bucket that `time` falls into. Buckets are in the order of the times.
fn bucket_of(time: Nanos) -> u16 {
    if time.0 < SUB_BUCKETS {
        return time.0 as u16;
    }
    let octave = time.0.ilog2() - SUB_BITS;
    let sub = (time.0 >> octave) & (SUB_BUCKETS - 1);
    ((octave + 1) << SUB_BITS) as u16 + sub as u16
}

/// The greatest time in `bucket`.
fn last_of(bucket: u16) -> Nanos {
    let (row, sub) = (u32::from(bucket) >> SUB_BITS, u64::from(bucket) & (SUB_BUCKETS - 1));
    match row.checked_sub(1) {
        None => Nanos(sub),
        Some(octave) => Nanos(((SUB_BUCKETS + sub) << octave) | ((1 << octave) - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram_of(times: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        times.iter().for_each(|&time| histogram.add(Nanos(time)));
        histogram
    }

    #[test]
    fn of_nothing_is_zero() {
        assert_eq!(Histogram::default().percentiles(), Percentiles::default());
    }

    #[test]
    fn small_times_are_exact() {
        let found = histogram_of(&(1..=50).collect::<Vec<_>>()).percentiles();
        assert_eq!((found.count, found.p50, found.p90), (50, Nanos(25), Nanos(45)));
        assert_eq!((found.p99, found.p999, found.worst), (Nanos(50), Nanos(50), Nanos(50)));
    }

    #[test]
    fn one_rare_time_shows_in_the_worst_alone() {
        let mut times = vec![10; 9_999];
        times.push(1_000_003);
        let found = histogram_of(&times).percentiles();
        assert_eq!((found.p999, found.worst), (Nanos(10), Nanos(1_000_003)));
    }

    #[test]
    fn the_sum_of_two_is_as_if_counted_by_one() {
        let (some, others): (Vec<u64>, Vec<u64>) =
            (1..=500).map(|n| n * n * 37 % 9_001).partition(|n| n % 3 == 0);
        let mut sum = histogram_of(&some);
        sum.add_all(&histogram_of(&others));
        let all: Vec<u64> = some.into_iter().chain(others).collect();
        assert_eq!(sum.percentiles(), histogram_of(&all).percentiles());
    }

    #[test]
    fn counts_larger_than_sixteen_bits_are_kept() {
        let mut times = vec![7; 200_000];
        times.extend([9; 70_000]);
        let mut found = histogram_of(&times);
        found.add_all(&histogram_of(&[9; 140_000]));
        let found = found.percentiles();
        assert_eq!((found.count, found.p50, found.worst), (410_000, Nanos(9), Nanos(9)));
    }

    #[test]
    fn the_longest_time_fits() {
        let found = histogram_of(&[u64::MAX, 0]).percentiles();
        assert_eq!((found.p50, found.p99, found.worst), (Nanos(0), Nanos::MAX, Nanos::MAX));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_bucket_holds_its_times(bits in 0u32..64, seed: u64) {
            let time = seed >> bits;
            let bucket = bucket_of(Nanos(time));
            let last = last_of(bucket).0;
            prop_assert!(last >= time && last - time <= time / SUB_BUCKETS);
            prop_assert_eq!(bucket_of(Nanos(last)), bucket);
            prop_assert!(last == u64::MAX || bucket_of(Nanos(last + 1)) == bucket + 1);
        }

        #[test]
        fn percentiles_are_rounded_up_by_little(
            samples in prop::collection::vec((0u32..64, any::<u64>()), 1..300),
        ) {
            let mut times: Vec<u64> = samples.into_iter().map(|(bits, seed)| seed >> bits).collect();
            let found = histogram_of(&times).percentiles();
            times.sort_unstable();
            for (per_mille, found) in [(500, found.p50), (900, found.p90), (990, found.p99), (999, found.p999)] {
                let exact = times[(times.len() * per_mille).div_ceil(1_000) - 1];
                prop_assert!(found.0 >= exact && found.0 - exact <= exact / SUB_BUCKETS);
            }
            prop_assert_eq!(found.worst.0, *times.last().unwrap());
            prop_assert_eq!(found.count, times.len() as u64);
        }
    }
}
