//! A sweep in pieces: shards, their join, and experiments that travel with their files. However the runs were spread, the result is that
//! of one local run.

use crate::command::{bytes, flowsieve, folder, small_result};
use flowsieve_experiment::model::MODEL;
use std::fs;
use std::path::Path;

fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = flowsieve(folder, arguments);
    assert_eq!(output.status, 0, "{arguments:?}: {}", output.err);
    output.out
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = flowsieve(folder, arguments);
    assert_eq!(output.status, 2, "{arguments:?}: {}{}", output.out, output.err);
    assert_eq!(output.out, "");
    output.err
}

/// The folder of `small.toml`, with its result and its runs as three shards in folders of their own.
fn sharded() -> tempfile::TempDir {
    let folder = small_result();
    for shard in ["1/3", "2/3", "3/3"] {
        let out = format!("shard-{}", &shard[..1]);
        let said = done(folder.path(), &["run", "small.toml", "--shard", shard, "--out", &out]);
        assert!(said.starts_with(&format!("shard {shard}: ")) && said.contains("of 8 runs"), "{said}");
        assert!(!folder.path().join(out).join("manifest.json").exists());
    }
    folder
}

/// The folders of the parts of a result, by name.
fn parts(result: &Path) -> Vec<String> {
    let entries = fs::read_dir(result.join("parts")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn join__of_shards_is_the_result_of_one_run() {
    let folder = sharded();
    let whole = folder.path().join("results/small");
    // Folders of results, and of parts alone.
    let joined = ["join", "small.toml", "--parts", "shard-1", "shard-2", "shard-3/parts", "--out", "joined"];
    let table = done(folder.path(), &joined);
    assert!(table.contains("FCT in µs"), "{table}");
    assert!(bytes(&folder.path().join("joined")) == bytes(&whole));
    // Into one folder without a join between: the last call finds all.
    for shard in ["2/2", "1/2"] {
        done(folder.path(), &["run", "small.toml", "--shard", shard, "--out", "shared"]);
    }
    done(folder.path(), &["join", "small.toml", "--out", "shared"]);
    assert!(bytes(&folder.path().join("shared")) == bytes(&whole));
    // What is joined again from equal parts stays.
    done(folder.path(), &["join", "small.toml", "--parts", "shared", "--out", "joined"]);
    assert!(bytes(&folder.path().join("joined")) == bytes(&whole));
}

#[test]
fn join__names_what_is_missing_or_leaves_it_out_or_makes_it() {
    let folder = sharded();
    let (folder, here) = (folder.path(), parts(&folder.path().join("shard-1")).len());
    let missing = 8 - here;
    let error = refused(folder, &["join", "small.toml", "--parts", "shard-1", "--out", "joined"]);
    assert!(error.contains(&format!("{missing} of 8 runs are missing")), "{error}");
    for part in parts(&folder.join("shard-2")) {
        assert!(error.contains(&part), "{part}: {error}");
    }
    let table = done(folder, &["join", "small.toml", "--parts", "shard-1", "--out", "joined", "--partial"]);
    let said = format!("{missing} of 8 runs are missing");
    assert!(table.contains(&said), "{table}");
    assert!(done(folder, &["doctor", "joined"]).contains(&said));
    assert!(fs::read_to_string(folder.join("joined/report.html")).unwrap().contains(&said));
    done(folder, &["join", "small.toml", "--out", "joined", "--run-missing"]);
    assert!(bytes(&folder.join("joined")) == bytes(&folder.join("results/small")));
    let error = refused(folder, &["join", "small.toml", "--parts", "nowhere", "--out", "other"]);
    assert!(error.contains("nowhere: is not a folder"), "{error}");
    fs::create_dir(folder.join("empty")).unwrap();
    let error = refused(folder, &["join", "small.toml", "--parts", "empty", "--out", "other", "--partial"]);
    assert!(error.contains("8 of 8 runs are missing"), "{error}");
}

/// Writes a part's description anew, with a text replaced and its seal right.
fn reseal(part: &Path, from: &str, to: &str) {
    let path = part.join("point.json");
    let text = fs::read_to_string(&path).unwrap();
    let (body, _) = text.rsplit_once(",\n  \"blake3\": \"").unwrap();
    let body = body.replacen(from, to, 1);
    let hash = blake3::hash(body.as_bytes()).to_hex();
    fs::write(path, format!("{body},\n  \"blake3\": \"{hash}\"\n}}\n")).unwrap();
}

#[test]
fn join__refuses_parts_that_are_damaged_or_differ_or_of_others() {
    let folder = sharded();
    let folder = folder.path();
    let part = &parts(&folder.join("shard-1"))[0];
    let path = folder.join("shard-1/parts").join(part);
    let join = ["join", "small.toml", "--parts", "shard-1", "shard-2", "shard-3", "results/small", "--out", "joined"];

    // One that another machine computed otherwise: both are named.
    let point = fs::read(path.join("point.json")).unwrap();
    reseal(&path, "\"simulated_ps\": ", "\"simulated_ps\": 1");
    let error = refused(folder, &join);
    assert!(
        error.contains("differ, although they are the same run") && error.matches(part.as_str()).count() == 2,
        "{error}"
    );
    // Where they came from, and neither stays in the result.
    assert!(error.contains("shard-1/parts/") && error.contains("results/small/parts/"), "{error}");
    assert!(!folder.join("joined/parts").join(part).exists());
    // One of another version.
    fs::write(path.join("point.json"), &point).unwrap();
    reseal(&path, "\"flowsieve\": \"0", "\"flowsieve\": \"99");
    let error = refused(folder, &join);
    assert!(error.contains("a part made by flowsieve 99") && error.contains(part.as_str()), "{error}");
    // One whose key this model does not have, where the run is missing.
    fs::rename(&path, folder.join("shard-1/parts/00older")).unwrap();
    let error = refused(folder, &["join", "small.toml", "--parts", "shard-1", "--out", "joined-2"]);
    assert!(error.contains("a part made by flowsieve 99") && error.contains("00older"), "{error}");
    // Damaged ones, whichever file it is.
    fs::rename(folder.join("shard-1/parts/00older"), &path).unwrap();
    fs::write(path.join("point.json"), &point).unwrap();
    for (file, at) in [("point.json", 40), ("flows.parquet", 40)] {
        let good = fs::read(path.join(file)).unwrap();
        let mut bad = good.clone();
        let at = bad.len() - at;
        bad[at] ^= 1;
        fs::write(path.join(file), bad).unwrap();
        let error = refused(folder, &["join", "small.toml", "--parts", "shard-1", "--out", "joined-3"]);
        assert!(error.contains("damaged") && error.contains(part.as_str()), "{file}: {error}");
        fs::write(path.join(file), good).unwrap();
    }
    done(folder, &["join", "small.toml", "--parts", "shard-1", "shard-2", "shard-3", "--out", "joined-3"]);
}

#[test]
fn run__shards_and_keys_that_are_none_are_refused() {
    let folder = folder();
    let folder = folder.path();
    for shard in ["0/40", "41/40", "3/0", "3", "x/y"] {
        let output = flowsieve(folder, &["run", "small.toml", "--shard", shard, "--out", "out"]);
        assert_eq!((output.status, output.out.as_str()), (2, ""), "{shard}");
        assert!(output.err.contains("--shard"), "{}", output.err);
    }
    let plan = done(folder, &["plan", "small.toml", "--json"]);
    fs::write(folder.join("plan.json"), &plan).unwrap();
    let error = refused(folder, &["run", "small.toml", "--seeds", "3", "--keys", "plan.json", "--out", "out"]);
    assert!(error.contains("is a different plan"), "{error}");
    fs::write(folder.join("keys"), "0123\n").unwrap();
    let error = refused(folder, &["run", "small.toml", "--keys", "keys", "--out", "out"]);
    assert!(error.contains("has no run 0123"), "{error}");
    assert!(refused(folder, &["run", "small.toml", "--keys", "nowhere", "--out", "out"]).contains("nowhere"));
    assert!(!folder.join("out").exists());

    // More shards than runs: some have nothing to do, and say so.
    let said = done(folder, &["run", "small.toml", "--shard", "9/9", "--out", "out"]);
    assert!(said.contains("0 of 8 runs"), "{said}");
    let json = done(folder, &["run", "small.toml", "--keys", "plan.json", "--out", "out", "--json"]);
    assert!(json.contains("\"runs\": 8") && json.contains("\"found\": 0"), "{json}");
}

#[test]
fn plan__says_what_runs_there_are_and_makes_none() {
    let folder = folder();
    let text = done(folder.path(), &["plan", "small.toml"]);
    assert!(text.contains("8 runs of 4 points") && text.contains("pias, load 0.8"), "{text}");
    let json = done(folder.path(), &["plan", "small.toml", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&json).unwrap();
    let runs = plan["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 8);
    assert!(runs.iter().all(|run| run["packet_hops"].as_f64().unwrap() > 0.0));
    assert!(runs.iter().all(|run| (40_000_000..100_000_000).contains(&run["memory_bytes"].as_u64().unwrap())));
    assert!(text.contains(plan["plan"].as_str().unwrap()));
    assert!(!plan["versions"]["model"].as_str().unwrap().is_empty());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing but the experiment");
}

/// An experiment in `deep/er`, with its files next to it and above it.
fn with_files(folder: &Path) {
    fs::create_dir_all(folder.join("deep/er/lists")).unwrap();
    fs::create_dir(folder.join("deep/cdf")).unwrap();
    fs::write(folder.join("deep/cdf/sizes.csv"), "size_bytes,cdf\n1000,0.5\n20000,1\n").unwrap();
    fs::write(
        folder.join("deep/er/lists/edges.csv"),
        "from,to,rate,delay\nhost0,s,10Gbps,1us\nhost1,s,10Gbps,1us\nhost2,s,10Gbps,1us\n",
    )
    .unwrap();
    let text = "[topology]\nkind = \"custom\"\nfile = \"lists/edges.csv\"\n[workload]\ncdf = \"../cdf/sizes.csv\"\nflows = 20\nload = 0.4\n\
                [sweep]\nscheme = [\"dctcp\", \"pias\"]\n";
    fs::write(folder.join("deep/er/listed.toml"), text).unwrap();
}

#[test]
fn pack__gives_the_same_runs_and_the_same_result_elsewhere() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    with_files(here.path());
    let said = done(here.path(), &["pack", "deep/er/listed.toml", "--seeds", "2", "-o", "x.flowsieve"]);
    assert!(said.starts_with("x.flowsieve: deep/er/listed.toml with 2 files ("), "{said}");
    let bundle = fs::read(here.path().join("x.flowsieve")).unwrap();
    fs::write(there.path().join("x.flowsieve"), &bundle).unwrap();
    let plan = |folder: &Path, arguments: &[&str]| done(folder, &[&["plan"], arguments, &["--json"]].concat());
    assert_eq!(
        plan(here.path(), &["deep/er/listed.toml", "--seeds", "2"]),
        plan(there.path(), &["x.flowsieve"]),
        "keys and hash do not depend on where the files are"
    );
    done(here.path(), &["run", "deep/er/listed.toml", "--seeds", "2", "--out", "out"]);
    done(there.path(), &["run", "x.flowsieve", "--shard", "1/2", "--out", "one"]);
    done(there.path(), &["run", "x.flowsieve", "--shard", "2/2", "--out", "two"]);
    done(there.path(), &["join", "x.flowsieve", "--parts", "one", "two", "--out", "out"]);
    assert!(bytes(&here.path().join("out")) == bytes(&there.path().join("out")));
    // The same again: a bundle has no times, owners or paths of its own, and can be packed again.
    done(there.path(), &["pack", "x.flowsieve", "-o", "y.flowsieve"]);
    assert!(fs::read(there.path().join("y.flowsieve")).unwrap() == bundle);
    // What is built in travels, too.
    done(there.path(), &["pack", "quickstart", "--set", "flows=10", "--seeds", "1", "-o", "q.flowsieve"]);
    let changed = done(there.path(), &["plan", "q.flowsieve", "--set", "load=0.5"]);
    assert!(changed.contains("3 runs of 3 points"), "{changed}");
}

#[test]
fn pack__takes_the_files_of_every_setting_of_sizes() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (name, size) in [("measured", "1000"), ("changed", "2000"), ("mixed", "3000"), ("answers", "4000")] {
        fs::write(here.path().join(format!("{name}.csv")), format!("bytes\n{size}\n20000\n")).unwrap();
    }
    let text = "[topology]\nkind = \"single-switch\"\nhosts = 8\n[workload]\nsizes = \"measured.csv\"\nflows = 20\nload = 0.4\n\
                [sweep]\nscheme = [\"dctcp\"]\n";
    let packed = |added: &str, files: &str| {
        // The last query ends the other flows.
        let queries = "[run]\nfct_end = \"arrival\"\n";
        let text = match added.starts_with("queries") {
            true => text.replace("flows = 20\n", "") + queries,
            false => text.to_owned(),
        };
        fs::write(here.path().join("x.toml"), text.replace("load = 0.4\n", &format!("load = 0.4\n{added}"))).unwrap();
        let said = done(here.path(), &["pack", "x.toml", "-o", "x.flowsieve", "--replace"]);
        assert!(said.starts_with(&format!("x.flowsieve: x.toml with {files} (")), "{said}");
        fs::copy(here.path().join("x.flowsieve"), there.path().join("x.flowsieve")).unwrap();
        let plan = |folder: &Path, file: &str| done(folder, &["plan", file, "--json"]);
        assert_eq!(plan(here.path(), "x.toml"), plan(there.path(), "x.flowsieve"));
    };
    packed("", "1 file");
    packed("change_at = \"1ms\"\nchange_sizes = \"changed.csv\"\n", "2 files");
    packed("mix_share = 0.5\nmix_sizes = \"mixed.csv\"\n", "2 files");
    packed("queries = 3\nquery_servers = 2\nquery_sizes = \"answers.csv\"\n", "2 files");
    // Files of the command line travel, too.
    fs::write(here.path().join("y.toml"), text.replace("measured.csv", "web-search")).unwrap();
    let said = done(here.path(), &["pack", "y.toml", "--set", "sizes=web-search,changed.csv", "-o", "y.flowsieve"]);
    assert!(said.starts_with("y.flowsieve: y.toml with 1 file ("), "{said}");
}

#[test]
fn pack__refuses_what_no_other_machine_has() {
    let folder = tempfile::tempdir().unwrap();
    with_files(folder.path());
    let whole = folder.path().join("deep/cdf/sizes.csv");
    let set = format!("cdf={}", whole.display());
    let error = refused(folder.path(), &["pack", "deep/er/listed.toml", "--set", &set, "-o", "x.flowsieve"]);
    assert!(error.contains("by an absolute path"), "{error}");
    assert!(!folder.path().join("x.flowsieve").exists());
}

/// A bundle with these entries: name, kind, content.
fn made(path: &Path, entries: &[(&str, tar::EntryType, &[u8])]) {
    let mut archive = tar::Builder::new(fs::File::create(path).unwrap());
    for (name, kind, content) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        if *kind == tar::EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        // Names that the library would not write.
        let bytes = name.as_bytes();
        header.as_old_mut().name[..bytes.len()].copy_from_slice(bytes);
        header.set_cksum();
        archive.append(&header, *content).unwrap();
    }
    archive.into_inner().unwrap();
}

#[test]
fn run__of_a_bundle_that_would_do_harm_is_refused() {
    use tar::EntryType::{Regular, Symlink};
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = "[topology]\nkind = \"single-switch\"\nhosts = 4\n[workload]\ncdf = \"c.csv\"\nload = 0.4\nflows = 5\n[sweep]\nscheme = [\"dctcp\"]\n";
    let cdf = "size_bytes,cdf\n1000,0.5\n20000,1\n";
    let hash = blake3::hash(cdf.as_bytes()).to_hex().to_string();
    let list = |path: &str, bytes: u64| {
        format!(
            "{{\"schema\":1,\"name\":\"t.toml\",\"sets\":[],\"seeds\":null,\"scale\":\"paper\",\"resolve\":false,\"files\":[\
             {{\"path\":{path:?},\"blake3\":\"{hash}\",\"bytes\":{bytes}}}]}}"
        )
    };
    let bundle = folder.join("x.flowsieve");
    let size = cdf.len() as u64;
    let with = |list: &str, file: (&str, tar::EntryType, &str)| {
        let entries = [("bundle.json", Regular, list), ("experiment.toml", Regular, text), file];
        made(&bundle, &entries.map(|(name, kind, content)| (name, kind, content.as_bytes())));
        flowsieve(folder, &["run", "x.flowsieve", "--out", "out"])
    };
    let good = with(&list("c.csv", size), (&hash, Regular, cdf));
    assert_eq!(good.status, 0, "{}", good.err);
    for (list, file, said) in [
        (list("/etc/passwd", size), (hash.as_str(), Regular, cdf), "the path \"/etc/passwd\""),
        (
            list("../../../../../../../../../../../../../../../../../../c.csv", size),
            (&hash, Regular, cdf),
            "folders above it",
        ),
        (list("..", size), (&hash, Regular, cdf), "the path \"..\""),
        (list("", size), (&hash, Regular, cdf), "the path \"\""),
        (list("c.csv", 20_000_000_000), (&hash, Regular, cdf), "at most 16000000000"),
        (list("c.csv", size), (&hash, Symlink, ""), "a header of type '2'"),
        (list("c.csv", size), ("../c.csv", Regular, cdf), "is not needed, or is there twice"),
        (list("c.csv", size), ("/tmp/c.csv", Regular, cdf), "is not needed, or is there twice"),
        (list("c.csv", 3), (&hash, Regular, cdf), "at most 3"),
        (list("c.csv", size), (&hash, Regular, "size_bytes,cdf\n1000,0.4\n20000,1\n"), "is damaged"),
        (list("c.csv", size).replace("\"schema\":1", "\"schema\":9"), (&hash, Regular, cdf), "schema 9"),
        (list("c.csv", size).replace("t.toml", "../t.toml"), (&hash, Regular, cdf), "is not a file name"),
        (list("c.csv", size).replace("paper", "huge"), (&hash, Regular, cdf), "no scale \"huge\""),
        ("{".to_owned(), (&hash, Regular, cdf), "bundle.json"),
    ] {
        let output = with(&list, file);
        assert_eq!(output.status, 2, "{said}: {}", output.err);
        assert!(output.err.contains("is not a bundle") && output.err.contains(said), "{said}: {}", output.err);
    }
    // Cut anywhere.
    let whole = {
        with(&list("c.csv", size), (&hash, Regular, cdf));
        fs::read(&bundle).unwrap()
    };
    for length in [100, 600, 1_100, 1_600, 2_100] {
        fs::write(&bundle, &whole[..length]).unwrap();
        let output = flowsieve(folder, &["plan", "x.flowsieve"]);
        assert_eq!(output.status, 2, "{length}: {}", output.out);
    }
}

/// Changes a result's manifest, and seals it again.
fn forge(result: &Path, from: &str, to: &str) {
    let manifest = result.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let (body, _) = text.rsplit_once(",\n  \"blake3\": \"").unwrap();
    assert!(body.contains(from), "{from}");
    let body = body.replace(from, to);
    let seal = blake3::hash(body.as_bytes()).to_hex();
    fs::write(manifest, format!("{body},\n  \"blake3\": \"{seal}\"\n}}\n")).unwrap();
}

#[test]
fn verify__of_a_bundle_proves_its_result() {
    let (folder, there) = (small_result(), tempfile::tempdir().unwrap());
    let said = done(folder.path(), &["pack", "small.toml", "--result", "results/small", "-o", "x.flowsieve"]);
    assert!(said.ends_with(", with digests of its result\n"), "{said}");
    let bundle = fs::read(folder.path().join("x.flowsieve")).unwrap();
    fs::write(there.path().join("x.flowsieve"), &bundle).unwrap();
    let said = done(there.path(), &["verify", "x.flowsieve", "--out", "again"]);
    assert!(said.starts_with("same bytes: 8 runs give the same flows.parquet, manifest.json, "), "{said}");
    let (again, result) = (bytes(&there.path().join("again")), bytes(&folder.path().join("results/small")));
    assert!(again.contains_key("flows.parquet") && again.iter().all(|(name, bytes)| result.get(name) == Some(bytes)));
    // Somebody who unpacks it reads what it is, and of which commit.
    let mut archive = tar::Archive::new(&*bundle);
    let mut readme = String::new();
    let mut entry = archive.entries().unwrap().nth(2).unwrap().unwrap();
    std::io::Read::read_to_string(&mut entry, &mut readme).unwrap();
    let commit = done(folder.path(), &["--version"]);
    let commit = commit.split(['(', ')', '+']).nth(1).unwrap();
    assert!(readme.contains("flowsieve verify") && readme.contains(&format!("commit {commit}")), "{readme}");

    let text = String::from_utf8_lossy(&bundle).into_owned();
    let digest = text.split("\"flows.parquet\": \"").nth(1).unwrap()[..64].to_owned();
    let at = bundle.windows(64).position(|window| window == digest.as_bytes()).unwrap();
    let mut damaged = bundle;
    damaged[at] = if damaged[at] == b'0' { b'1' } else { b'0' };
    fs::write(there.path().join("damaged.flowsieve"), damaged).unwrap();
    done(folder.path(), &["pack", "small.toml", "-o", "bare.flowsieve"]);
    fs::copy(folder.path().join("bare.flowsieve"), there.path().join("bare.flowsieve")).unwrap();
    for (what, why) in [
        ("damaged.flowsieve", "the digests of its result are damaged"),
        ("bare.flowsieve", "holds no digests of a result; expected one of `flowsieve pack EXPERIMENT --result DIR`"),
        ("nowhere.flowsieve", "No such file"),
        ("again/summary.csv", "is not a bundle: it begins otherwise; expected one of `flowsieve pack`"),
    ] {
        let said = refused(there.path(), &["verify", what]);
        assert!(said.contains(why), "{said}");
    }
    let other = ["pack", "small.toml", "--seeds", "1", "--result", "results/small", "-o", "y.flowsieve"];
    let said = refused(folder.path(), &other);
    assert!(said.contains("is not the result of this plan: its runs are 8, and not 4"), "{said}");
}

#[test]
fn verify__of_a_result_says_what_differs_and_what_made_it() {
    let folder = small_result();
    assert!(done(folder.path(), &["verify", "results/small"]).starts_with("same bytes: 8 runs"));
    let result = folder.path().join("results/small");
    let commit = fs::read_to_string(result.join("manifest.json")).unwrap();
    let commit = commit.split("\"commit\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let (model, earlier) = (format!("\"model\": \"{MODEL}\""), format!("\"model\": \"{}\"", MODEL - 1));
    forge(&result, &format!("\"commit\": \"{commit}\""), "\"commit\": \"another\"");
    let other = flowsieve(folder.path(), &["verify", "results/small"]);
    assert!(other.status == 0 && other.err.contains("commit another; this is"), "{}", other.err);
    assert!(!other.err.contains(&format!("model {MODEL}: ")), "{}", other.err);
    forge(&result, &model, &earlier);
    let other = flowsieve(folder.path(), &["verify", "results/small"]);
    assert!(
        other.status == 0 && other.err.contains(&format!("model {}, commit another; this is", MODEL - 1)),
        "{}",
        other.err
    );
    assert!(other.err.contains(&format!("model {MODEL}: the order of packets")), "{}", other.err);
    // Another experiment under the same description: it says which columns of which runs.
    forge(&result, "seeds = 2\\n", "seeds = 2\\n[schemes.pias]\\nqueues = 2\\n");
    let other = flowsieve(folder.path(), &["verify", "results/small"]);
    assert_eq!(other.status, 1, "{}{}", other.out, other.err);
    let line = |file: &str| other.out.lines().find(|line| line.starts_with(file)).unwrap_or_default().to_owned();
    let flows = line("flows.parquet: ");
    assert!(flows.contains("`fct_ps`") && flows.contains(" in `pias, load 0.5, seed 1`, "), "{}", other.out);
    assert!(!flows.contains("`bytes`") && !flows.contains("dctcp"), "{}", other.out);
    assert!(line("summary.csv: ").contains("`pias, load 0.8, all`"), "{}", other.out);
    assert!(line("manifest.json: ").contains("`pias, load 0.5`"), "{}", other.out);
    forge(&result, &earlier, &model);
    let said = refused(folder.path(), &["verify", "results/small"]);
    assert!(said.contains("cannot be made again here: ") && said.contains(" in pias, load 0.5, and not "), "{said}");
    fs::write(result.join("summary.csv"), "damaged").unwrap();
    assert!(refused(folder.path(), &["verify", "results/small"]).contains("its bytes are not those that were written"));
}
