//! `flowsieve reproduce`: a paper's experiments beside its claims.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueHint};
use flowsieve_experiment::bundle::{failed, write_text};
use flowsieve_experiment::engine::Engines;
use flowsieve_experiment::execute::{How, execute_sharing};
use flowsieve_experiment::plan::{Changes, Plan};
use flowsieve_experiment::shards::hops_in_words;
use flowsieve_experiment::{Error, lookup};
use flowsieve_papers::reproduce::{self, Figure, Reproduction, Take};
use flowsieve_papers::resolve::Resolving as State;
use flowsieve_report::Layout;
use flowsieve_settings::files::{self as files, Existing};

use super::announce;
use super::run::tell_of_threads;
use crate::interruption;
use crate::options::{Budget, ChangeOptions, Jobs, Threads};
use crate::output::{print, tell};
use crate::papers;
use crate::progress::{in_words, shown};
use crate::resolve::{Resolvable, Resolving};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  flowsieve reproduce awafs/fig05-03 --scale quick
      runs one figure and prints its claims with what was measured
  flowsieve reproduce nos2 --scale quick --dry-run
      what all of a paper would take
  flowsieve reproduce nos2 --scale quick --from-measured
      runs nothing; shows what is kept of earlier runs
  flowsieve reproduce nos2/fig06 --page nos2.md
      writes the page of claims and values to this file
  flowsieve reproduce nos2 --scale quick --resolve --budget 2h
      adds seeds to claims that are not resolved, for two hours

Figures share their points: a run that several figures need is made once.
After a figure's own runs come those that test the causes of its claims.
Repeat an interrupted command to continue it.")]
pub(crate) struct Reproduce {
    /// A paper's folder in the catalogue, or one of its figures: PAPER or PAPER/FIGURE
    #[arg(value_name = "PAPER[/FIGURE]")]
    what: String,
    /// Folder of the catalogue [default: experiments or papers, if they exist, else built in]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
    #[command(flatten)]
    change: ChangeOptions,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    threads: Threads,
    /// Where results go, one folder per figure [default: results/ and the paper's name]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Where the page of claims and values goes [default: reproduction.md in that folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    page: Option<PathBuf>,
    /// Replace that page and its figures if they exist; those in the folder of the results are always replaced
    #[arg(long, requires = "page")]
    replace: bool,
    /// Add seeds, five to 40, to unresolved claims that twice their seeds would resolve, the cheapest first
    #[arg(long, conflicts_with = "seeds")]
    resolve: bool,
    /// Time for adding seeds, from the start of the command; the first five are always run
    #[arg(long, value_name = "TIME", default_value = "60m", requires = "resolve")]
    budget: Budget,
    /// Run nothing; show the measurements that are kept next to the experiments
    #[arg(long, conflicts_with_all = ["fresh", "keep", "seeds", "resolve", "jobs", "threads", "dry_run"])]
    from_measured: bool,
    /// Make all runs again: use neither existing results nor, with --keep, kept measurements
    #[arg(long)]
    fresh: bool,
    /// Keep the measurements next to the experiments, and continue from those kept there
    #[arg(long)]
    keep: bool,
    /// Show the cost, without running anything
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn reproduce(args: &Reproduce, engines: &Engines) -> Result<(), Error> {
    let begun = Instant::now();
    interruption::answer()?;
    let folder = lookup::catalogue(args.folder.as_deref(), &args.what);
    let changes =
        Changes { sets: Vec::new(), seeds: args.change.seeds, scale: args.change.scale.into(), resolve: args.resolve };
    if args.from_measured {
        return show_kept(args, &folder, &changes, engines);
    }
    if args.keep && lookup::is_builtin(&folder) {
        let problem = "--keep: the experiments are built in, so there is no folder to keep measurements in";
        return Err(Error::Input(format!("{problem}; expected --folder with a folder of experiments")));
    }
    let take = if args.fresh || !args.keep { Take::None } else { Take::OfThisModel };
    let mut reproduction = reproduce::read(&folder, &args.what, &changes, take, engines)?;
    let out = out(args, &reproduction);
    if out.join("manifest.json").exists() {
        return Err(Error::Input(format!(
            "{}: it holds the result of an experiment; name another folder with --out",
            out.display()
        )));
    }
    let (jobs, threads, parts) = (args.threads.jobs(args.jobs), args.threads.count(), out.join("parts"));
    if args.fresh {
        remove(&parts)?;
    } else {
        reproduction.refuse_other_models(&out)?;
    }
    say(&reproduction, &parts, jobs);
    reproduction.figures.iter().try_for_each(|figure| tell_of_threads(&figure.plan, engines, threads))?;
    if args.dry_run {
        return Ok(());
    }
    let page = Page::of(args, &out)?;
    let unreported = Cell::new(None);
    let make = |figure: &mut Figure| {
        for (name, plan) in figure.left(&parts) {
            let (folder, how) = (out.join(name), How { jobs, threads, fresh: false, replace: true });
            let result = shown(&plan, |show| execute_sharing(&plan, engines, &folder, &parts, how, show))?;
            if let Err(error) = papers::write(&result, &Layout::new(&result.manifest().experiment, None)?) {
                // The other reports are still written.
                unreported.set(Some(error));
            }
            figure.take(&result, &plan)?;
            if args.keep {
                figure.keep()?;
            }
        }
        Ok(())
    };
    let figures = reproduction.figures.iter_mut();
    let mut figures: Vec<Running> = figures.map(|figure| Running { figure, parts: &parts, make: &make }).collect();
    for running in &mut figures {
        announce(&running.figure.plan, jobs);
        running.make()?;
    }
    if args.resolve {
        Resolving { metric: None, begun, budget: args.budget.0, jobs }.go_on(&mut figures)?;
    }
    show(&reproduction, &page, &|| other_totals(args, &folder, &reproduction, engines))?;
    unreported.take().map_or(Ok(()), |error| Err(Error::Unreported(error)))
}

/// Returns the folder of the results.
fn out(args: &Reproduce, reproduction: &Reproduction) -> PathBuf {
    args.out.clone().unwrap_or_else(|| PathBuf::from("results").join(&reproduction.paper))
}

/// The page of a reproduction.
struct Page {
    path: PathBuf,
    existing: Existing,
}

impl Page {
    /// Refuses a file that must not be replaced, before hours of work.
    fn of(args: &Reproduce, out: &Path) -> Result<Page, Error> {
        let path = args.page.clone().unwrap_or_else(|| out.join("reproduction.md"));
        let existing = if args.page.is_some() { Existing::replaced(args.replace) } else { Existing::Own };
        let check = if args.page.is_some() { files::check_named } else { files::check_new };
        check(&path, existing).map_err(failed(&path))?;
        Ok(Page { path, existing })
    }
}

/// Writes the page and prints the claims, their totals, and the sentence of `beside` about these.
fn show(reproduction: &Reproduction, page: &Page, beside: &dyn Fn() -> Option<String>) -> Result<(), Error> {
    let Page { path: page, existing } = page;
    let drawing = |name: &str| format!("figures/{}-{name}.svg", reproduction.paper);
    let text = reproduction.page(&drawing);
    for (path, svg) in reproduction.drawings(&drawing) {
        write(&page.with_file_name(path), &svg, *existing)?;
    }
    write(page, &text, *existing)?;
    let beside = beside().map_or(String::new(), |beside| format!("{beside}\n"));
    let summary = match reproduction.summary.trim() {
        "" => String::new(),
        summary => format!("{summary}\n\n"),
    };
    let (claims, totals, causes) = (reproduction.text(), reproduction.totals(), reproduction.causes());
    print(&format!("{summary}{claims}{totals}.\n{causes}{beside}\nPage: {}\n", page.display()))
}

/// Shows the values stored next to the experiments, with all stored seeds; runs nothing.
fn show_kept(args: &Reproduce, folder: &Path, changes: &Changes, engines: &Engines) -> Result<(), Error> {
    let reproduction = kept(args, folder, changes, engines)?;
    let runs: usize = reproduction.figures.iter().map(|figure| figure.plan.runs.len()).sum();
    let kept: usize = reproduction.figures.iter().map(kept_runs).sum();
    let scale = changes.scale.name();
    if kept == 0 {
        let others: usize = reproduction.figures.iter().map(|figure| figure.kept.count()).sum();
        let why = if others > 0 { format!("; {others} are, for other settings or seeds") } else { String::new() };
        let problem = format!("{}: no run at {scale} scale is kept next to the experiments{why}", args.what);
        return Err(Error::Input(format!(
            "{problem}; expected another --scale, or no --from-measured, which makes the runs"
        )));
    }
    tell(format!("{}: {kept} of {runs} runs at {scale} scale were measured before; none is made", args.what));
    if let Some(models) = reproduction.other_models() {
        tell(models);
    }
    if kept < runs {
        tell(
            "a figure with missing runs has the values of those that are there; run without --from-measured to make the others",
        );
    }
    for claim in reproduction.left_out() {
        tell(format!("no seeds were added for {claim}"));
    }
    show(&reproduction, &Page::of(args, &out(args, &reproduction))?, &|| None)
}

fn kept_runs(figure: &Figure) -> usize {
    figure.plan.runs.iter().filter(|run| figure.kept.has(&run.key)).count()
}

/// Returns the same experiments with their stored values, of all stored seeds.
fn kept(args: &Reproduce, folder: &Path, changes: &Changes, engines: &Engines) -> Result<Reproduction, Error> {
    let changes = Changes { resolve: true, seeds: None, ..changes.clone() };
    reproduce::read(folder, &args.what, &changes, Take::OfAny, engines)
}

/// Returns the totals of the values stored next to the experiments, if each has some and they differ.
fn other_totals(args: &Reproduce, folder: &Path, reproduction: &Reproduction, engines: &Engines) -> Option<String> {
    let changes = Changes { scale: args.change.scale.into(), ..Changes::default() };
    // If they cannot be read, there is nothing to compare with.
    let kept = kept(args, folder, &changes, engines).ok()?;
    let (ours, theirs) = (reproduction.totals(), kept.totals());
    (kept.figures.iter().all(|figure| kept_runs(figure) > 0) && ours != theirs).then(|| {
        format!(
            "The runs kept next to the experiments (--from-measured) have {}, these have {}. {}The kept runs say: {theirs}.",
            kept.seeds(),
            reproduction.seeds(),
            kept.other_models().map(|models| models + " ").unwrap_or_default(),
        )
    })
}

/// Prints the estimated cost, and what exists already.
fn say(reproduction: &Reproduction, parts: &Path, jobs: usize) {
    let estimate = reproduction.estimate(parts);
    tell(format!(
        "{}: {} experiment{}, {} points, {} runs, {} of them to make: about {} packet-hops, {} with {jobs} at a time",
        reproduction.paper,
        reproduction.figures.len(),
        if reproduction.figures.len() == 1 { "" } else { "s" },
        estimate.points,
        estimate.runs,
        estimate.left,
        hops_in_words(estimate.packet_hops),
        in_words(estimate.seconds(jobs)),
    ));
    if estimate.kept > 0 {
        let kept = estimate.kept;
        tell(format!(
            "{kept} runs were measured before and are read from the experiments' folder; --fresh makes them again"
        ));
    }
}

fn remove(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(folder)(error)),
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str, existing: Existing) -> Result<(), Error> {
    std::fs::create_dir_all(files::folder_of(path)).map_err(failed(path))?;
    write_text(path, existing, text)
}

/// A figure that is being made.
struct Running<'a> {
    figure: &'a mut Figure,
    parts: &'a Path,
    /// Makes the runs that it lacks.
    make: &'a dyn Fn(&mut Figure) -> Result<(), Error>,
}

impl Resolvable for Running<'_> {
    fn state(&self) -> State<'_> {
        self.figure.resolving(|key| self.parts.join(key).exists())
    }

    fn plan_mut(&mut self) -> &mut Plan {
        &mut self.figure.plan
    }

    fn make(&mut self) -> Result<(), Error> {
        (self.make)(self.figure)
    }
}
