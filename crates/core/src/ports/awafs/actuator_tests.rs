use super::*;
use crate::awafs::completed::LARGEST;
use crate::thresholds::SizeLaw;
use proptest::prelude::*;

fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// Ticks of 200 us over windows of 250 us.
fn params(percentiles: &[u32], entries: usize) -> ActuatorParams {
    let initial = (1..=percentiles.len() as u32).map(|i| 7_000 * i).collect();
    ActuatorParams {
        initial,
        percentiles: percentiles.to_vec(),
        of_sizes: false,
        model: None,
        period: us(200),
        window: us(250),
        entries,
    }
}

/// Returns the values of the gauge of this name, by queue.
fn gauges(actuator: &Actuator, name: &str) -> Vec<f64> {
    let mut values = Vec::new();
    actuator.observe(&mut |reading| match reading {
        Reading::Gauge(gauge) if gauge.name == name => values.push(gauge.value),
        _ => {}
    });
    values
}

fn after(percentiles: &[u32], sizes: &[u32]) -> Vec<u32> {
    let mut actuator = Actuator::new(&params(percentiles, 100));
    sizes.iter().for_each(|&size| actuator.complete(us(150), size));
    actuator.tick(us(200));
    actuator.thresholds().to_vec()
}

#[test]
fn tick__percentiles_of_the_nearest_rank() {
    let tenths: Vec<u32> = (1..=10).map(|n| n * 1_000).collect();
    assert_eq!(after(&[100_000, 550_000, 550_001, 1_000_000], &tenths), [1_000, 6_000, 6_001, 10_000]);
    assert_eq!(after(&[0, 100_001], &tenths), [1_000, 2_000]);
    assert_eq!(after(&[1, 500_000, 999_999], &[33]), [33, 34, 35], "one flow");
    assert_eq!(after(&[100_000, 200_000], &[u32::MAX; 5]), [LARGEST, LARGEST + 1]);
}

#[test]
fn tick__percentiles_of_distinct_sizes() {
    // Half of the flows have one packet, which is one fifth of the five sizes.
    let sizes = [1_460, 1_460, 1_460, 1_460, 2_920, 4_380, 7_300, 7_300, 100_000, 1_460];
    let tenths: Vec<u32> = (1..=5).map(|n| n * 100_000).collect();
    assert_eq!(after(&tenths, &sizes), [1_460, 1_461, 1_462, 1_463, 1_464]);
    let mut actuator = Actuator::new(&ActuatorParams { of_sizes: true, ..params(&tenths, 100) });
    sizes.iter().for_each(|&size| actuator.complete(us(150), size));
    actuator.tick(us(200));
    assert_eq!(actuator.thresholds(), [1_460, 1_461, 2_920, 2_921, 4_380]);
    assert_eq!(actuator.list().len(), 10, "the list keeps its flows");
    // At 400 us the window begins at 150 us: the same ten flows and an eleventh.
    actuator.complete(us(201), 50_000);
    actuator.tick(us(400));
    assert_eq!(actuator.thresholds(), [1_460, 2_920, 2_921, 4_380, 4_381]);
    assert_eq!(actuator.list().len(), 11);
}

#[test]
fn choose__fewer_bytes_than_the_threshold() {
    let actuator = Actuator::new(&params(&[100_000, 200_000], 1));
    assert_eq!([0, 6_999, 7_000, 13_999, 14_000, u32::MAX].map(|sent| actuator.choose(sent)), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn tick__an_empty_list_keeps_the_thresholds() {
    let mut actuator = Actuator::new(&params(&[100_000], 9));
    actuator.tick(us(1_000));
    assert_eq!((actuator.thresholds(), actuator.ticks()), (&[7_000][..], 5));
    actuator.complete(us(1_001), 500);
    assert!(!actuator.is_due(us(1_199)) && actuator.is_due(us(1_200)));
    actuator.tick(us(9_999));
    assert_eq!((actuator.thresholds(), actuator.ticks(), actuator.list().len()), (&[500][..], 49, 0));
}

#[test]
fn observe__says_how_far_back_the_list_reaches() {
    let mut actuator = Actuator::new(&params(&[500_000], 2));
    let window = |actuator: &Actuator| {
        let mut expected = None;
        actuator.observe(&mut |reading| {
            if let Reading::Expectation(of) = reading {
                expected = Some(of);
            }
        });
        let Expectation { name, value, at_least, .. } = expected.unwrap();
        assert_eq!((gauges(actuator, name), at_least), (vec![value], 250e-6));
        value
    };
    actuator.tick(us(200));
    assert_eq!(window(&actuator), 250e-6);
    (0..3).for_each(|n| actuator.complete(us(300 + n), 9));
    actuator.tick(us(400));
    assert_eq!(window(&actuator), 100e-6, "the flow that ended at 300 us had to go");
    actuator.tick(us(800));
    assert_eq!(window(&actuator), 250e-6);
}

/// The tandem of PIAS.
#[derive(Debug)]
struct Tandem;

impl Solver for Tandem {
    fn thresholds(&self, sizes: &mut dyn Iterator<Item = (u64, u64)>, load: f64, queues: usize) -> Option<Vec<u64>> {
        crate::thresholds::tandem(&SizeLaw::from_counts(sizes).ok()?, load, queues).ok()
    }
}

/// 90 flows of 1,000 bytes and 10 of 91,000: at load 0.9 two queues are best where 0.76 of the bytes have passed, about
/// 9,000 bytes into the long flows. The largest size seen below that is 1,000, the 90th percentile.
#[test]
fn tick__percentiles_chosen_by_the_model() {
    let chosen_of = |of_sizes, sizes: &[(u32, usize)], load: f64, queues: usize| {
        let initial = (1..queues as u32).collect();
        let params = ActuatorParams { initial, of_sizes, model: Some(&Tandem), ..params(&vec![0; queues - 1], 1_000) };
        let mut actuator = Actuator::new(&params);
        let flows = sizes.iter().flat_map(|&(size, flows)| std::iter::repeat_n(size, flows));
        flows.for_each(|size| actuator.complete(us(150), size));
        actuator.note(Time((load * us(200).0 as f64) as u64));
        actuator.tick(us(200));
        (gauges(&actuator, "percentile"), actuator.thresholds().to_vec())
    };
    let chosen = |sizes: &[(u32, usize)], load, queues| chosen_of(false, sizes, load, queues);
    let two = [(91_000, 10), (1_000, 90)];
    // The model looks at the flows; among the two sizes, 1,000 is the 50th percentile.
    assert_eq!(chosen_of(true, &two, 0.9, 2), (vec![0.5], vec![1_000]));
    assert_eq!(chosen(&two, 0.9, 2), (vec![0.9], vec![1_000]));
    assert_eq!(chosen(&two, 0.9, 4), (vec![0.9; 3], vec![1_000, 1_001, 1_002]));
    assert_eq!(chosen(&[(12_000, 5)], 0.75, 3), (vec![0.0; 2], vec![12_000, 12_001]), "one size");
    // With flows of every size up to 100,000, the model puts the threshold at load 0.5 where g = 0.586 of the bytes have
    // passed. At a share x of the largest size, g = 2x - x², so x = 0.356.
    let (percentiles, thresholds) = chosen(&(1..=1_000).map(|n| (100 * n, 1)).collect::<Vec<_>>(), 0.5, 2);
    assert!((percentiles[0] - 0.356).abs() < 0.002 && thresholds[0].abs_diff(35_600) < 200, "{percentiles:?}");
}

/// The same without ring and laziness, and with no bound other than the list's: every tick runs in its turn.
struct Naive {
    params: ActuatorParams,
    thresholds: Vec<u32>,
    flows: Vec<(Time, u32)>,
    ticks: u64,
}

impl Naive {
    fn run(&mut self, until: Time) {
        while Time((self.ticks + 1) * self.params.period.0) <= until {
            self.ticks += 1;
            let now = Time(self.ticks * self.params.period.0);
            self.flows.retain(|&(end, _)| end + self.params.window >= now);
            let mut sizes: Vec<u32> = self.flows.iter().map(|&(_, size)| size).collect();
            sizes.sort_unstable();
            if sizes.is_empty() {
                continue;
            }
            for (i, &percentile) in self.params.percentiles.iter().enumerate() {
                // The least size that is not below the percentile's share of the flows.
                let share = |size: u32| sizes.iter().filter(|&&s| s <= size).count() as u64 * u64::from(WHOLE);
                let reached = |size: &&u32| share(**size) >= u64::from(percentile) * sizes.len() as u64;
                let size = *sizes.iter().find(reached).unwrap();
                self.thresholds[i] = if i == 0 { size } else { size.max(self.thresholds[i - 1] + 1) };
            }
        }
    }

    fn complete(&mut self, end: Time, size: u32) {
        self.flows.push((end, size));
        if self.flows.len() > self.params.entries {
            self.flows.remove(0);
        }
    }
}

proptest! {
    /// Late ticks, however late, leave the same result as punctual ones; thresholds rise; the list keeps its bound.
    #[test]
    fn tick__late_ticks_are_as_punctual_ones(
        entries in 1..12usize,
        flows in prop::collection::vec((0..700u64, 1..5_000u32), 1..80),
    ) {
        let params = params(&[100_000, 500_000, 900_000, 1_000_000], entries);
        let mut lazy = Actuator::new(&params);
        let mut naive = Naive { thresholds: params.initial.clone(), params, flows: Vec::new(), ticks: 0 };
        let mut now = Time::ZERO;
        for (pause, size) in flows {
            now += us(pause);
            naive.run(now);
            if lazy.is_due(now) {
                lazy.tick(now);
            }
            prop_assert_eq!(lazy.thresholds(), &naive.thresholds[..]);
            prop_assert_eq!(lazy.ticks(), naive.ticks);
            prop_assert!(lazy.thresholds().is_sorted_by(|a, b| a < b));
            lazy.complete(now, size);
            naive.complete(now, size);
            prop_assert!(lazy.list().len() <= entries);
        }
    }
}
