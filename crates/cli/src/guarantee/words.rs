//! Guarantees in words: what each type says, what its receiver may choose, and how it is misread.

use hls_calculus::{Continuity, Guarantee, Rational, time_ceil, time_exact, time_floor};

/// What a guarantee promises, in a sentence.
pub fn promise(have: &Guarantee) -> String {
    match have {
        Guarantee::All => "The whole of one CPU, whenever it is wanted.".into(),
        Guarantee::Reservation { continuity, hard, amount, period } => {
            let (amount, period) = (time_exact(amount), time_exact(period));
            let limit = if *hard { "and no more" } else { "and it may be more" };
            match continuity {
                Continuity::Basic => format!(
                    "A basic reservation: {amount} of CPU time in every period of {period}, {limit}. The scheduler \
                     chooses where the periods begin and where in each the time lies."
                ),
                Continuity::Continuous => format!(
                    "A continuous reservation: {amount} of CPU time in every stretch of {period}, wherever it \
                     begins, {limit}."
                ),
            }
        }
        Guarantee::Psbe { share, delta } => format!(
            "A proportional share with a bounded error: {share} of any window, less at most {} in all.",
            time_exact(delta)
        ),
        Guarantee::Resu { rate } => format!(
            "A uniformly slower processor: exactly {rate} of the time between any two consecutive instants \
             (releases and deadlines) that it tells its scheduler of."
        ),
        Guarantee::Ps { share } => {
            format!(
                "A proportional share: {share} of the CPU in the long run, and nothing in any finite time."
            )
        }
        Guarantee::Null => "Best effort: nothing is promised. It may still get whatever others leave.".into(),
        Guarantee::Edp { period, amount, deadline } => format!(
            "A reservation with a deadline: {} of CPU time within the first {} of every period of {}, and it may be \
             more. The scheduler chooses where the periods begin.",
            time_exact(amount),
            time_exact(deadline),
            time_exact(period)
        ),
        Guarantee::Job { amount, period, response } => format!(
            "A promise about single requests, each from a wake-up to the next sleep: one that takes at most {} and \
             begins at least {} after the one before began is done within {}. A shorter one is done as much sooner.",
            time_exact(amount),
            time_exact(period),
            time_exact(response)
        ),
        Guarantee::Mpr { period, amount, cpus } => format!(
            "A multiprocessor periodic resource: {} of CPU time in every period of {} for a group of virtual \
             processors together, on at most {cpus} of the CPUs at once, and it may be more. It is what a group \
             needs; a scheduler gives it by what it gives to each of them.",
            time_exact(amount),
            time_exact(period)
        ),
    }
}

/// Which other guarantees follow from this one, with numbers that the receiver chooses.
pub fn chosen(have: &Guarantee) -> Option<String> {
    match have {
        Guarantee::All => Some("and any reservation or share of a CPU, without its upper limit".into()),
        Guarantee::Psbe { share, delta } => Some(format!(
            "and for any y above {}, RESCS {share}*y-{} y (HLS, Theorem 6)",
            time_ceil(&(delta / share)),
            time_exact(delta)
        )),
        Guarantee::Resu { rate } => Some(format!(
            "and, with the instants at most g apart, PSBE {rate} {}*g: the error is 2r(1-r)g",
            two() * rate * (one() - rate)
        )),
        _ => None,
    }
}

/// What people wrongly take a guarantee for, and what to ask for instead.
pub fn warnings(have: &Guarantee) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some((wanted, other)) = in_every_period(have) {
        let Guarantee::Reservation { amount, period, .. } = &wanted else { return warnings };
        let certain = time_ceil(&(have.blackout().unwrap_or_else(|| period.clone()) + amount));
        let (amount, period) = (time_floor(amount), time_exact(period));
        warnings.push(format!(
            "A need of {amount} in every stretch of {period} is not met: {amount} is certain only in every \
             {certain}. That need is {wanted}. It follows from {other}, which a reservation scheduler can give."
        ));
    }
    match have {
        Guarantee::Reservation { continuity, hard: true, amount, period } if amount < period => {
            warnings.push(format!(
                "It is hard: {} a period is also the most, on an idle CPU too. {} sets no limit.",
                time_exact(amount),
                have.softened()
            ));
            if *continuity == Continuity::Basic {
                warnings.push(format!(
                    "The limit is one of periods, not of windows: the time of two can lie back to back, {} in one go.",
                    time_exact(&(two() * amount))
                ));
            }
        }
        Guarantee::Reservation { continuity: Continuity::Continuous, hard: false, amount, period }
            if amount < period =>
        {
            warnings.push(format!(
                "A reservation scheduler keeps it with budget=\"{}\" period=\"{}\".",
                time_exact(amount),
                time_exact(&longest_period(amount, period))
            ));
        }
        Guarantee::Psbe { delta, share } if *delta > Rational::default() => warnings.push(format!(
            "Nothing is certain in windows of up to {}. A deadline that is nearer cannot rely on it.",
            time_ceil(&(delta / share))
        )),
        Guarantee::Ps { .. } => {
            warnings.push("No deadline can rely on it, and no reservation follows from it.".into());
        }
        Guarantee::Resu { .. } => warnings.push(
            "It is for schedulers that know their deadlines. A thread tells its scheduler of none, so for a thread it \
             is worth a share in the long run and no more."
                .into(),
        ),
        Guarantee::Mpr { period, amount, cpus } => {
            let each = Guarantee::resbs(amount / Rational::from_integer((*cpus).into()), period.clone());
            warnings.push(format!(
                "It says nothing of any one thread of the group. It follows from {} on each of {cpus} virtual \
                 processors, which a reservation scheduler gives to a child of that width.",
                each.rounded_for_people()
            ));
        }
        Guarantee::Job { amount, period, .. } => {
            let (amount, period) = (time_exact(amount), time_exact(period));
            warnings.push(format!(
                "A request that takes more has its first {amount} in time, and no more is certain. One that comes too \
                 soon is promised nothing. Either puts off the next: to {period} after its end for each {amount}, or \
                 part of it, that it took."
            ));
            warnings.push(
                "It is no share. A thread that always wants the CPU makes one request, and is promised nothing more."
                    .into(),
            );
        }
        Guarantee::All => {
            warnings.push("Interrupts, timer ticks and the cost of switches come off it; they are not counted.".into());
        }
        _ => {}
    }
    warnings
}

/// For a promise of an amount in each period of a hidden grid: the continuous reservation for which people take it, and
/// a basic reservation that gives that. `None` where the promise does give it, and for guarantees of other kinds.
pub fn in_every_period(have: &Guarantee) -> Option<(Guarantee, Guarantee)> {
    let (Guarantee::Reservation { continuity: Continuity::Basic, amount, period, .. }
    | Guarantee::Edp { amount, period, .. }) = have
    else {
        return None;
    };
    let wanted = Guarantee::rescs(amount.clone(), period.clone());
    let enough = Guarantee::resbs(amount.clone(), longest_period(amount, period));
    (have.sbf(period) < *amount).then_some((wanted, enough))
}

/// The longest period of a basic reservation that gives `amount` in every stretch of `window`: RESBS x,y gives x in
/// every 2y-x (HLS, Theorem 1).
fn longest_period(amount: &Rational, window: &Rational) -> Rational {
    (window + amount) / two()
}

fn one() -> Rational {
    Rational::from_integer(1.into())
}

fn two() -> Rational {
    Rational::from_integer(2.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hls_calculus::implies;

    fn guarantee(text: &str) -> Guarantee {
        Guarantee::parse(text).unwrap()
    }

    #[test]
    fn ten_in_every_thirty_three_needs_a_shorter_period() {
        for held in ["RESBH 10ms 33ms", "RESBS 10ms 33ms", "EDP 33ms 10ms 20ms"] {
            let found = in_every_period(&guarantee(held));
            assert_eq!(found, Some((guarantee("RESCS 10ms 33ms"), guarantee("RESBS 10ms 21.5ms"))), "{held}");
        }
        for right in
            ["RESCS 10ms 33ms", "RESCH 10ms 33ms", "RESBH 33ms 33ms", "EDP 33ms 10ms 10ms", "ALL", "NULL"]
        {
            assert_eq!(in_every_period(&guarantee(right)), None, "{right}");
        }
    }

    #[test]
    fn the_advice_is_enough_and_no_longer_period_is() {
        for period in 2..40 {
            for amount in 1..period {
                let held = guarantee(&format!("RESBH {amount}ns {period}ns"));
                let (wanted, enough) = in_every_period(&held).unwrap();
                assert!(implies(&enough, &wanted).is_ok(), "{enough}");
                assert!(implies(&held, &wanted).is_err(), "{held}");
                let Guarantee::Reservation { amount, period, .. } = enough else { panic!() };
                let longer = Guarantee::resbs(amount, period * Rational::new(1001.into(), 1000.into()));
                assert!(implies(&longer, &wanted).is_err(), "{longer}");
            }
        }
    }
}
