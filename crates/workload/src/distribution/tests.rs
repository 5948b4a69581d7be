use super::*;
use crate::random::{Purpose, stream};
use proptest::prelude::*;

const PACKETS_1460: Rounding = Rounding::Packets { payload: NonZeroU32::new(1460).unwrap() };

fn sizes(text: &str, reading: Reading, rounding: Rounding) -> SizeDistribution {
    SizeDistribution::parse("test", text, reading, rounding).unwrap()
}

#[test]
fn stepped__draws_only_listed_sizes() {
    let sizes = sizes("100,0.25\n300,1", Reading::Stepped, Rounding::Bytes);
    assert_eq!([0.0, 0.25, 0.26, 1.0].map(|p| sizes.quantile(p)), [100, 100, 300, 300]);
    assert_eq!([99, 100, 299, 300].map(|bytes| sizes.cdf(bytes)), [0.0, 0.25, 0.25, 1.0]);
    assert_eq!(sizes.mean_bytes(), 250.0);
}

#[test]
fn interpolated__is_uniform_between_points_and_has_masses_on_them() {
    // A quarter has 100 bytes, half is uniform up to 300, a quarter has 300.
    let sizes = sizes("100,0.25\n300,0.75\n300,1", Reading::Interpolated, Rounding::Bytes);
    assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|p| sizes.quantile(p)), [100, 100, 200, 300, 300]);
    assert_eq!([99, 100, 200, 299, 300].map(|bytes| sizes.cdf(bytes)), [0.0, 0.25, 0.5, 0.7475, 1.0]);
    // Rounding up adds half a byte to the uniform half.
    assert_eq!(sizes.mean_bytes(), 0.25 * 100.0 + 0.5 * 200.5 + 0.25 * 300.0);
}

#[test]
fn packets__round_every_size_up() {
    let sizes = sizes("1,0.5\n1461,1", Reading::Stepped, PACKETS_1460);
    assert_eq!([sizes.quantile(0.5), sizes.quantile(1.0)], [1460, 2920]);
    assert_eq!([1459, 1460, 2919, 2920].map(|bytes| sizes.cdf(bytes)), [0.0, 0.5, 0.5, 1.0]);
    assert_eq!(sizes.mean_bytes(), 2190.0);
    assert_eq!(sizes.mean_packets(NonZeroU32::new(1460).unwrap()), 1.5);
    assert_eq!(sizes.mean_packets(NonZeroU32::new(1000).unwrap()), 2.5);
}

#[test]
fn formulas__have_their_means_and_quantiles() {
    let fixed = SizeDistribution::fixed(10_000, Rounding::Bytes).unwrap();
    assert_eq!((fixed.mean_bytes(), fixed.quantile(0.0), fixed.max_bytes()), (10_000.0, 10_000, 10_000));
    let uniform = SizeDistribution::uniform(1, 6, Rounding::Bytes).unwrap();
    assert_eq!([0.0, 1.0 / 6.0, 0.5, 1.0].map(|p| uniform.quantile(p)), [1, 1, 3, 6]);
    assert_eq!((uniform.mean_bytes(), uniform.cdf(2)), (3.5, 2.0 / 6.0));
    // Rounded up to whole bytes, half a byte more than the mean of the formula.
    let exponential = SizeDistribution::exponential(100_000, Rounding::Bytes).unwrap();
    assert!((exponential.mean_bytes() - 100_000.5).abs() < 1e-5, "{}", exponential.mean_bytes());
    assert_eq!(exponential.quantile(0.5), 69_315);
    let lognormal = SizeDistribution::lognormal(10_000, 1.0, Rounding::Bytes).unwrap();
    assert!((lognormal.mean_bytes() - (10_000.0 * libm::exp(0.5) + 0.5)).abs() < 1e-5, "{}", lognormal.mean_bytes());
    assert_eq!([0.5, 0.841_344_746_068_543].map(|p| lognormal.quantile(p)), [10_000, 27_183]);
    let pareto = SizeDistribution::bounded_pareto(1.0, 1_000, 1_000_000, Rounding::Bytes).unwrap();
    let mean = 1e3 * libm::log(1e3) / (1.0 - 1e-3) + 0.5;
    assert!((pareto.mean_bytes() - mean).abs() < 1e-2, "{} {mean}", pareto.mean_bytes());
    assert_eq!([0.0, 1.0].map(|p| pareto.quantile(p)), [1_000, 1_000_000]);
    let names = [fixed, uniform, exponential, lognormal, pareto].map(|sizes| sizes.name().to_owned());
    let expected = [
        "fixed(10000)",
        "uniform(1, 6)",
        "exponential(100000)",
        "lognormal(10000, 1)",
        "bounded-pareto(1, 1000, 1000000)",
    ];
    assert_eq!(names, expected);
}

#[test]
fn formulas__are_drawn_the_same_for_ever() {
    let law = SizeDistribution::lognormal(10_000, 2.0, Rounding::Bytes).unwrap();
    let mut rng = stream(1, Purpose::Sizes, 0);
    let drawn: Vec<u64> = (0..4).map(|_| law.sample(&mut rng)).collect();
    // Computed by another program from the definitions of the streams and the inverse normal.
    assert_eq!(drawn, [15_769, 2_533, 3_995, 6_483]);
    let unbounded = [law, SizeDistribution::exponential(1_000, PACKETS_1460).unwrap()];
    for sizes in unbounded {
        let n = 200_000;
        let sum: f64 = (0..n).map(|_| sizes.sample(&mut rng) as f64).sum();
        // Four standard errors of the lognormal are 6 %.
        assert!((sum / f64::from(n) / sizes.mean_bytes() - 1.0).abs() < 0.06, "{}", sizes.name());
        assert_eq!((sizes.cdf(sizes.max_bytes()), sizes.cdf(0)), (1.0, 0.0));
    }
}

#[test]
fn quantile__skips_sizes_without_probability() {
    let sizes = sizes("100,0\n200,0.5\n400,0.5\n500,1", Reading::Interpolated, Rounding::Bytes);
    assert_eq!([sizes.quantile(0.5), sizes.quantile(0.501)], [200, 401]);
    assert_eq!([sizes.cdf(200), sizes.cdf(300), sizes.cdf(400)], [0.5, 0.5, 0.5]);
}

#[test]
fn quantile__takes_any_number() {
    let sizes = sizes("0,0\n10,1", Reading::Interpolated, Rounding::Bytes);
    assert_eq!([sizes.quantile(-1.0), sizes.quantile(0.0), sizes.quantile(f64::NAN)], [1, 1, 1]);
    assert_eq!([sizes.quantile(2.0), sizes.quantile(f64::INFINITY)], [10, 10]);
}

#[test]
fn mean__is_exact_at_the_largest_size() {
    let sizes = sizes("0,0\n1e15,1", Reading::Interpolated, Rounding::Bytes);
    assert_eq!(sizes.mean_bytes(), (1e15 + 1.0) / 2.0);
}

/// Up to eight steps of at least 1/160, so that a sample sees all of them; with or without a start at zero.
fn any_text() -> impl Strategy<Value = String> {
    let steps = prop::collection::vec((0u64..20_000, 1u32..=20), 1..=8);
    (steps, prop_oneof!["0,0\n", Just(String::new())]).prop_map(|(steps, start)| {
        let total: u32 = steps.iter().map(|(_, weight)| weight).sum();
        let rows = steps.iter().scan((1, 0), |(size, sum), (growth, weight)| {
            *size += growth;
            *sum += weight;
            Some(format!("{size},{}\n", f64::from(*sum) / f64::from(total)))
        });
        start + &rows.collect::<String>()
    })
}

fn any_rounding() -> impl Strategy<Value = Rounding> {
    let packets = (1u32..3_000).prop_map(|n| Rounding::Packets { payload: NonZeroU32::new(n).unwrap() });
    prop_oneof![Just(Rounding::Bytes), packets]
}

fn any_sizes() -> impl Strategy<Value = SizeDistribution> {
    let reading = prop_oneof![Just(Reading::Stepped), Just(Reading::Interpolated)];
    let points =
        (any_text(), reading, any_rounding()).prop_map(|(text, reading, rounding)| sizes(&text, reading, rounding));
    let bounded = (1u64..20_000, 1u64..20_000, any_rounding(), 0.3..3.0, 0u8..3).prop_map(
        |(low, width, rounding, shape, which)| match which {
            0 => SizeDistribution::fixed(low, rounding).unwrap(),
            1 => SizeDistribution::uniform(low, low + width, rounding).unwrap(),
            _ => SizeDistribution::bounded_pareto(shape, low, low + width, rounding).unwrap(),
        },
    );
    prop_oneof![3 => points, 1 => bounded]
}

/// The mean of `measure` over the quantiles in the middle of `n` equal shares. A quantile function never falls, so
/// for a `measure` that never falls either, this is within (largest - smallest) / `n` of the mean.
fn mean_of_quantiles(sizes: &SizeDistribution, n: u32, measure: impl Fn(u64) -> f64) -> f64 {
    let quantile = |i| measure(sizes.quantile((f64::from(i) + 0.5) / f64::from(n)));
    (0..n).map(quantile).sum::<f64>() / f64::from(n)
}

proptest! {
    #[test]
    fn mean__is_the_mean_of_the_quantiles(sizes in any_sizes(), payload in 1u32..5_000) {
        let n = 5_000;
        let range = (sizes.max_bytes() - sizes.quantile(0.0)) as f64;
        let bytes = mean_of_quantiles(&sizes, n, |bytes| bytes as f64);
        prop_assert!((sizes.mean_bytes() - bytes).abs() <= range / f64::from(n) + 1e-6, "{bytes}");

        let packets_of = |bytes: u64| bytes.div_ceil(u64::from(payload)) as f64;
        let range = packets_of(sizes.max_bytes()) - packets_of(sizes.quantile(0.0));
        let mean = sizes.mean_packets(NonZeroU32::new(payload).unwrap());
        let packets = mean_of_quantiles(&sizes, n, packets_of);
        prop_assert!((mean - packets).abs() <= range / f64::from(n) + 1e-6, "{mean} {packets}");
    }

    /// No share of a sample is further from the distribution's than the Dvoretzky-Kiefer-Wolfowitz bound, which holds for any
    /// distribution. A bound on the mean would depend on the heaviness of the tail, which a sample may miss.
    #[test]
    fn sample__has_the_distribution(sizes in any_sizes(), seed: u64) {
        let n = 10_000;
        let mut rng = stream(seed, Purpose::Sizes, 0);
        let mut sampled: Vec<u64> = (0..n).map(|_| sizes.sample(&mut rng)).collect();
        sampled.sort_unstable();
        // Exceeded once in 10^12 samples.
        let bound = (libm::log(2e12) / (2.0 * f64::from(n))).sqrt();
        for (below, &size) in sampled.iter().enumerate() {
            let up_to = sampled.partition_point(|&other| other <= size);
            prop_assert!((up_to as f64 / f64::from(n) - sizes.cdf(size)).abs() <= bound, "{size}");
            // Just below the size, the sample has no more draws than stand before it.
            prop_assert!(sizes.cdf(size - 1) <= (below as f64 + 1.0) / f64::from(n) + bound, "below {size}");
        }
    }

    #[test]
    fn quantile__is_the_smallest_size_that_reaches_the_share(sizes in any_sizes(), p in 0.0..=1.0) {
        let size = sizes.quantile(p);
        prop_assert!(sizes.cdf(size) >= p - 1e-9);
        prop_assert!(sizes.cdf(size - 1) <= p + 1e-9);
    }

    #[test]
    fn cdf__never_falls_and_ends_at_one(sizes in any_sizes(), a in 0u64..200_000, b in 0u64..200_000) {
        prop_assert!(sizes.cdf(a.min(b)) <= sizes.cdf(a.max(b)));
        prop_assert_eq!(sizes.cdf(0), 0.0);
        prop_assert_eq!(sizes.cdf(sizes.max_bytes()), 1.0);
    }

    #[test]
    fn parse__never_panics(text in "\\PC*", stepped: bool) {
        let reading = if stepped { Reading::Stepped } else { Reading::Interpolated };
        let _ = SizeDistribution::parse("any", &text, reading, PACKETS_1460);
    }

    #[test]
    fn parse__refuses_or_gives_a_distribution_that_works(
        mut rows in prop::collection::vec(("(0|1|1e15|[0-9]{1,3}|[0-9]e[0-9])", 0u32..=4), 1..6),
        stepped: bool,
        p in 0.0..=1.0
    ) {
        rows.sort_by_key(|row| row.1);
        let row = |(size, quarters): &(String, u32)| format!("{size},{}\n", f64::from(*quarters) / 4.0);
        let text: String = rows.iter().map(row).collect();
        let reading = if stepped { Reading::Stepped } else { Reading::Interpolated };
        if let Ok(sizes) = SizeDistribution::parse("any", &text, reading, PACKETS_1460) {
            prop_assert!((1460..=sizes.max_bytes()).contains(&sizes.quantile(p)));
            let mean = sizes.mean_bytes() / sizes.max_bytes() as f64;
            prop_assert!(mean > 0.0 && mean <= 1.0 + 1e-12, "{mean}");
        }
    }

    #[test]
    fn floor_sum__is_the_sum(n in 0u128..200, a in 0u128..5_000, b in 0u128..5_000, m in 1u128..5_000) {
        prop_assert_eq!(floor_sum(n, a, b, m), (0..n).map(|i| (a * i + b) / m).sum::<u128>());
    }
}
