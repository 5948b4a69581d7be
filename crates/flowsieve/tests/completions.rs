//! What shells complete.

use assert_cmd::Command;

/// What bash completes, by the script that the command prints.
#[test]
fn completions__of_bash_know_names() {
    let folder = tempfile::tempdir().unwrap();
    let script = Command::cargo_bin("flowsieve").unwrap().args(["completions", "bash"]).output().unwrap();
    assert!(script.status.success());
    std::fs::write(folder.path().join("script"), script.stdout).unwrap();
    let complete = |words: &str| {
        let last = words.split(' ').count() - 1;
        let ask = format!(
            "source ./script; COMP_WORDS=({words}); [ -n \"${{COMP_WORDS[{last}]}}\" ] || COMP_WORDS+=(''); \
             COMP_CWORD={last}; _flowsieve flowsieve \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{last}-1]}}\"; \
             echo \"${{COMPREPLY[@]}}\""
        );
        let done = Command::new("bash").args(["-c", &ask]).current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("flowsieve run quick"), "quickstart");
    assert_eq!(complete("flowsieve run quickstart --set ecn_th"), "ecn_threshold=");
    assert_eq!(complete("flowsieve reproduce nos2/fig07"), "nos2/fig07-readings nos2/fig07a nos2/fig07b nos2/fig07c");
    assert_eq!(complete("flowsieve thresholds --workload mq-ecn-h"), "mq-ecn-hadoop");
    assert_eq!(complete("flowsieve explain sp-"), "sp-pifo sp-elastic");
    // Nothing: bash then completes files.
    assert_eq!(complete("flowsieve run small.t"), "");
}
