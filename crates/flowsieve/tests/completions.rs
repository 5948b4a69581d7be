//! What shells complete.

use assert_cmd::Command;

/// What bash completes, by the script that the command prints.
#[test]
fn completions__of_bash_know_names() {
    let folder = tempfile::tempdir().unwrap();
    let script = Command::cargo_bin("flowsieve").unwrap().args(["completions", "bash"]).output().unwrap();
    assert!(script.status.success());
    std::fs::write(folder.path().join("script"), script.stdout).unwrap();
    let program = assert_cmd::cargo::cargo_bin("flowsieve");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let complete = |words: &str| {
        let last = words.split(' ').count() - 1;
        let ask = format!(
            "source ./script; COMP_WORDS=({words}); [ -n \"${{COMP_WORDS[{last}]}}\" ] || COMP_WORDS+=(''); \
             COMP_CWORD={last}; _flowsieve flowsieve \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{last}-1]}}\"; \
             echo \"${{COMPREPLY[@]}}\""
        );
        let done =
            Command::new("bash").args(["-c", &ask]).env("PATH", &path).current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("flowsieve run quick"), "quickstart");
    assert_eq!(complete("flowsieve run quickstart --set ecn_threshold_a"), "ecn_threshold_at=");
    // A single link's and an event's have no place in a change.
    assert_eq!(complete("flowsieve run quickstart --set loss"), "loss_detection=");
    assert_eq!(complete("flowsieve run quickstart --set faile"), "");
    // bash splits words at `=`.
    assert_eq!(complete("flowsieve run quickstart --set scheme = pfabric-p"), "pfabric-predicted");
    assert_eq!(complete("flowsieve run quickstart --set scheme = pias,pfabric-p"), "pias,pfabric-predicted");
    assert_eq!(complete("flowsieve run quickstart --set kind = s"), "single-link single-switch");
    assert_eq!(complete("flowsieve run quickstart --set scheme=pfabric-p"), "scheme=pfabric-predicted");
    assert_eq!(complete("flowsieve reproduce nos2/fig07"), "nos2/fig07-readings nos2/fig07a nos2/fig07b nos2/fig07c");
    assert_eq!(complete("flowsieve tune --workload mq-ecn-h"), "mq-ecn-hadoop");
    assert_eq!(complete("flowsieve explain sp-"), "sp-pifo sp-elastic");
    let mut run = Command::cargo_bin("flowsieve").unwrap();
    run.args([
        "run",
        "quickstart",
        "--scale",
        "smoke",
        "--set",
        "scheme=dctcp,pias",
        "--set",
        "load=0.5",
        "--out",
        "out",
    ]);
    run.current_dir(folder.path()).assert().success();
    assert_eq!(complete("flowsieve compare out p"), "pias");
    assert_eq!(complete("flowsieve compare out pias d"), "dctcp");
    // Nothing: bash then completes files.
    assert_eq!(complete("flowsieve run small.t"), "");
}
