//! Tests of causes, from the file to the page.

use crate::claims::{engines, make};
use flowsieve_experiment::plan::Changes;
use flowsieve_experiment::{Error, Scale};
use flowsieve_papers::reproduce::{self, Reproduction, Take};
use std::path::Path;

/// Four hosts that add 20 us each way; small flows take as long as these delays and little more.
const FIGURE: &str = r#"title = "One switch"
[topology]
kind = "single-switch"
hosts = 4
host_delay = "20us"
[workload]
sizes = "web-search"
flows = 100
[sweep]
load = 0.3
scheme = ["dctcp"]
[run]
seeds = 5

[[claims]]
id = "delay"
metric = "p50 fct"
class = "0-10KB"
scheme = "dctcp"
load = 0.3
claimed = "12us"
why = "hosts add 80 us to a round trip"
why_test = { set = "host_delay=0us", expect = ["5us", "25us"] }

[[claims]]
id = "memory"
metric = "p50 fct"
class = "0-10KB"
scheme = "dctcp"
claimed = "12us"
why = "a small buffer loses packets"
why_test = { set = ["buffer=10MB", "ecn_threshold=1MB"], expect = "12us" }

[[claims]]
id = "guess"
metric = "p50 fct"
class = "0-10KB"
scheme = "dctcp"
claimed = "12us"
why = "of the moon"
"#;

fn read(folder: &Path, text: &str) -> Result<Reproduction, Error> {
    std::fs::create_dir_all(folder.join("paper")).unwrap();
    std::fs::write(folder.join("paper/fig-1.toml"), text).unwrap();
    reproduce::read(folder, "paper", &Changes::default(), Take::OfThisModel, &engines())
}

#[test]
fn why_test__a_run_without_what_the_cause_names_shows_or_refutes_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = read(folder.path(), FIGURE).unwrap();
    let out = folder.path().join("out");
    // Five seeds of one point, and as many of each of two tests.
    assert_eq!(all.estimate(&out).left, 15);
    assert!(all.causes().ends_with("Their causes: 2 not tested yet, 1 a guess.\n"), "{}", all.causes());
    make(&mut all, &out);
    assert_eq!(
        all.causes(),
        "Claims that neither agree nor have the claimed direction: 3. Their causes: 1 shown by a run, 1 refuted, 1 a guess.\n"
    );
    let page = all.page(&str::to_owned);
    let tests = page.split("## Causes and their tests").nth(1).unwrap();
    let row = |id: &str| tests.lines().find(|line| line.starts_with(&format!("| [{id}](#"))).unwrap();
    assert!(row("delay").contains("| `host_delay=0us` |") && row("delay").ends_with("| shown by a run |"), "{page}");
    assert!(row("memory").contains("(not as expected) | refuted |"), "{page}");
    assert!(page.contains("; hosts add 80 us to a round trip (shown by a run)"), "{page}");
    assert!(page.contains("; a guess: of the moon"), "{page}");

    // A test's runs are named by what it changes, so that none is taken for one of the experiment's own.
    all.figures[0].keep().unwrap();
    let kept = std::fs::read_to_string(&all.figures[0].kept_in).unwrap();
    assert_eq!(kept.matches("\"point\":\"dctcp, load 0.3\"").count(), 5, "{kept}");
    assert_eq!(kept.matches("\"point\":\"dctcp, load 0.3, with host_delay=0us\"").count(), 5, "{kept}");

    // What is kept needs no further run, and an edited test is another run.
    let again = read(folder.path(), FIGURE).unwrap();
    assert_eq!((again.estimate(Path::new("nowhere")).left, again.causes()), (0, all.causes()));
    let edited = read(folder.path(), &FIGURE.replace("host_delay=0us", "host_delay=1us")).unwrap();
    assert_eq!(edited.estimate(Path::new("nowhere")).left, 5);
}

#[test]
fn why_test__that_tests_nothing_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let table = [
        ("set = \"host_delay=0us\"", "set = \"host_dleay=0us\"", "`why_test` of the claim \"delay\": "),
        ("set = \"host_delay=0us\"", "set = \"host_delay=20us\"", "`host_delay=20us` changes nothing in the runs"),
        ("host_delay=0us\", expect", "load=0.5\", expect", "with `load=0.5` the claim has no runs"),
        ("set = \"host_delay=0us\", ", "", "`why_test` has no `set`"),
        (", expect = [\"5us\", \"25us\"]", "", "`why_test` has no `expect`, which is stated before its runs"),
        ("expect = [\"5us\"", "expects = [\"5us\"", "unknown key `expects` in `why_test`"),
        ("expect = [\"5us\"", "expect = [\"30us\"", "the ends of `claimed` fall"),
        ("why = \"hosts add 80 us to a round trip\"\n", "", "this claim has no `why`"),
        (
            "why_test = { set = \"host_delay=0us\", expect = [\"5us\", \"25us\"] }",
            "why_test = \"delay\"",
            "not a table",
        ),
    ];
    for (given, instead, said) in table {
        assert!(FIGURE.contains(given), "{given}");
        let text = FIGURE.replacen(given, instead, 1);
        let refused = read(folder.path(), &text).unwrap_err().render(false);
        assert!(refused.contains(said) && refused.contains("fig-1.toml"), "{instead}: {refused}");
    }
    // A scale that leaves out the claim's load leaves nothing to test of it; the other claim's test stays.
    let text = FIGURE.replacen("[[claims]]", "[scale.smoke]\nload = 0.4\n\n[[claims]]", 1);
    std::fs::write(folder.path().join("paper/fig-1.toml"), text).unwrap();
    let smoke = Changes { scale: Scale::Smoke, ..Changes::default() };
    let elsewhere = reproduce::read(folder.path(), "paper", &smoke, Take::OfThisModel, &engines()).unwrap();
    assert_eq!(elsewhere.estimate(Path::new("nowhere")).left, 10);
}

#[test]
fn ideal__bounds_what_can_be_reached() {
    let folder = tempfile::tempdir().unwrap();
    // Small flows under pFabric take 52 % less than under DCTCP (47 to 57), and under FIFO without marks far longer.
    let (head, _) = FIGURE.split_once("\n[[claims]]").unwrap();
    let head = head.replace("load = 0.3", "load = 0.9").replace("flows = 100", "flows = 300");
    let head = head.replace("[\"dctcp\"]", "[\"dctcp\", \"fcfs\", \"pfabric\"]");
    let claim = "\n[[claims]]\nid = \"gain\"\nmetric = \"mean fct\"\nclass = \"0-10KB\"\nscheme = \"fcfs\"\n\
        baseline = \"dctcp\"\nclaimed = \"-70%\"\nideal = \"pfabric\"\n";
    let bounded = |claim: &str| {
        let mut all = read(folder.path(), &format!("{head}{claim}")).unwrap();
        make(&mut all, &folder.path().join("out"));
        let (page, causes) = (all.page(&str::to_owned), all.causes());
        assert_eq!(page.contains("even pfabric has −"), causes.contains("1 settled without a run"), "{page}");
        causes.contains("1 settled without a run")
    };
    assert!(bounded(claim) && bounded(&claim.replace("\"-70%\"", "[\"-90%\", \"-65%\"]")));
    // What the ideal reaches, or goes beyond, is not out of reach.
    for reached in ["\"-50%\"", "\"-20%\"", "\"lower\"", "[\"-90%\", \"-40%\"]", "\"up to -10%\""] {
        assert!(!bounded(&claim.replace("\"-70%\"", reached)), "{reached}");
    }
    // FIFO, under which these flows take longer than under pFabric, does not bound pFabric.
    let swapped =
        claim.replace("scheme = \"fcfs\"", "scheme = \"pfabric\"").replace("ideal = \"pfabric\"", "ideal = \"fcfs\"");
    assert!(!bounded(&swapped));
    let refused = |claim: &str| read(folder.path(), &format!("{head}{claim}")).unwrap_err().render(false);
    assert!(refused(&claim.replace("\"pfabric\"", "\"homa\"")).contains("the sweep has no scheme `homa`"));
    let order = claim.replace("scheme = \"fcfs\"\nbaseline = \"dctcp\"", "schemes = [\"dctcp\", \"fcfs\"]");
    let value = claim.replace("baseline = \"dctcp\"\n", "").replace("-70%", "20us");
    for other in [order.replace("-70%", "close"), value, claim.replace("\"-70%\"", "[\"-5%\", \"+5%\"]")] {
        assert!(refused(&other).contains("it is no change to one side"), "{other}");
    }
}

#[test]
fn why_test__of_one_cause_is_not_taken_for_that_of_another() {
    // The second claim's changes end with those of the first.
    let text =
        FIGURE.replace("set = [\"buffer=10MB\", \"ecn_threshold=1MB\"]", "set = [\"load=0.2\", \"host_delay=0us\"]");
    let folder = tempfile::tempdir().unwrap();
    let all = read(folder.path(), &text).unwrap();
    let sets: Vec<&[String]> = all.figures[0].tests.iter().map(|plan| plan.changes.sets.as_slice()).collect();
    assert_eq!(sets, [&["host_delay=0us".to_owned()][..], &["load=0.2".to_owned(), "host_delay=0us".to_owned()][..]]);
}
