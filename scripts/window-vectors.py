#!/usr/bin/env python3
"""Writes vectors/windows.json: schedules with the occurrences that a second implementation finds for them.

Dates come from dateutil's rrule, instants from zoneinfo; the server uses neither. A wall time with fold=0 is read with
the offset before the change: in a gap it moves forward by the gap, in a fold it is the first of the two.

    python3 scripts/window-vectors.py > vectors/windows.json && npx biome format --write vectors/windows.json

Needs python3-dateutil. Changes of the clock are taken from past years alone: releases of the time zone database differ
in what they expect of the future.
"""

import json
import random
import sys
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

UTC = timezone.utc
DAY = timedelta(days=1)

# Zones with the first and last year whose changes of the clock are tried, and how many of them.
CHANGES = {
    "Europe/Berlin": (2023, 2025, 6),
    "America/New_York": (2023, 2025, 6),
    "Africa/Casablanca": (2018, 2024, 8),  # turns back for Ramadan since 2018
    "Africa/Cairo": (2010, 2024, 6),  # without summer time from 2015 to 2022; changes at midnight
    "America/Havana": (2012, 2024, 4),  # changes at midnight
    "America/Sao_Paulo": (2016, 2019, 6),  # gave up summer time in 2019; changed at midnight
    "America/St_Johns": (2009, 2012, 6),  # changed at 00:01 until 2011
    "Antarctica/Troll": (2022, 2025, 6),  # two hours
    "Asia/Tehran": (2019, 2022, 6),  # gave up summer time in 2022; half-hour offset
    "Australia/Lord_Howe": (2022, 2025, 6),  # half an hour
    "Europe/Istanbul": (2014, 2016, 6),  # stayed in summer time in 2016
    "Pacific/Apia": (2009, 2021, 8),  # had no 30 December 2011; gave up summer time in 2021
    "Pacific/Chatham": (2023, 2025, 4),  # three quarters of an hour off
}
STEADY = ["UTC", "Asia/Kathmandu", "Asia/Kolkata", "Pacific/Kiritimati"]

# Rules of dates with the first date and the range in which they are tried.
RULES = [
    ("second Tuesday of the month", "FREQ=MONTHLY;BYDAY=2TU", "2026-01-01", "2026-01-01", "2027-01-01"),
    ("second Tuesday, first date between two of them", "FREQ=MONTHLY;BYDAY=2TU", "2026-01-20", "2026-01-01", "2026-07-01"),
    ("last Friday of the month", "FREQ=MONTHLY;BYDAY=-1FR", "1970-01-01", "2026-01-01", "2026-07-01"),
    ("fifth Monday, where there is one", "FREQ=MONTHLY;BYDAY=5MO", "2026-01-01", "2026-01-01", "2027-01-01"),
    ("last workday of the month", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "2025-12-31", "2026-01-01", "2026-07-01"),
    ("Wednesday after the second Tuesday", "FREQ=MONTHLY;BYDAY=WE;BYMONTHDAY=9,10,11,12,13,14,15", "2026-01-01", "2026-01-01", "2026-07-01"),
    ("31st, only in months that have one", "FREQ=MONTHLY;BYMONTHDAY=31", "2026-01-01", "2026-01-01", "2027-01-01"),
    ("31st of the first date, every second month", "FREQ=MONTHLY;INTERVAL=2", "1970-01-31", "2026-01-01", "2027-12-31"),
    ("last day of the month", "FREQ=MONTHLY;BYMONTHDAY=-1", "2027-12-01", "2027-12-01", "2028-04-01"),
    ("last and 31st name one day once", "FREQ=MONTHLY;BYMONTHDAY=31,-1", "2027-12-01", "2027-12-01", "2028-04-01"),
    ("every quarter", "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=15", "1999-11-15", "2026-01-01", "2027-01-01"),
    ("every second Tuesday since 1970", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", "1970-01-06", "2026-11-01", "2026-12-31"),
    ("every second week, weeks from Monday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO", "2026-08-05", "2026-08-01", "2026-09-30"),
    ("every second week, weeks from Sunday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU", "2026-08-05", "2026-08-01", "2026-09-30"),
    ("every third week on the weekday of the first date", "FREQ=WEEKLY;INTERVAL=3", "2025-12-25", "2026-01-01", "2026-04-01"),
    ("every third day since 1970", "FREQ=DAILY;INTERVAL=3", "1970-01-01", "2026-11-01", "2026-12-01"),
    ("each day but weekends", "FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR", "1970-01-01", "2026-02-20", "2026-03-10"),
    ("each day of two months", "FREQ=DAILY;BYMONTH=1,7", "2026-01-29", "2026-01-01", "2026-07-03"),
    ("29 February", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "2020-01-01", "2020-01-01", "2033-01-01"),
    ("29 February of the first date", "FREQ=YEARLY", "2096-02-29", "2096-01-01", "2110-01-01"),
    ("60th day counted from 1 January", "FREQ=YEARLY;BYMONTH=2,3;BYMONTHDAY=29,1;BYSETPOS=1", "2023-01-01", "2023-01-01", "2029-01-01"),
    ("last Sunday of March every second year", "FREQ=YEARLY;INTERVAL=2;BYMONTH=3;BYDAY=-1SU", "2019-06-01", "2020-01-01", "2030-01-01"),
    ("first Monday of the year", "FREQ=YEARLY;BYDAY=1MO", "2026-01-06", "2026-01-01", "2031-01-01"),
    ("a day of each month, named by YEARLY", "FREQ=YEARLY;BYMONTHDAY=13;BYDAY=FR", "2026-01-01", "2026-01-01", "2028-01-01"),
    ("ten times", "FREQ=WEEKLY;BYDAY=MO,TH;COUNT=10", "2026-09-01", "2026-09-01", "2026-12-31"),
    ("ten times, the first on the first date", "FREQ=DAILY;INTERVAL=2;COUNT=10", "2026-09-01", "2026-09-10", "2026-12-31"),
    ("until a date that is one", "FREQ=WEEKLY;UNTIL=20260929", "2026-09-01", "2026-09-01", "2026-12-31"),
    ("until the day before one", "FREQ=WEEKLY;UNTIL=20260928", "2026-09-01", "2026-09-01", "2026-12-31"),
]
WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


def start_of(day, schedule):
    hour, minute = map(int, schedule["start"].split(":"))
    wall = datetime(day.year, day.month, day.day, hour, minute, tzinfo=ZoneInfo(schedule["zone"]), fold=0)
    return wall.astimezone(UTC)


def dates_of(schedule, last):
    first = date.fromisoformat(schedule["starts_on"])
    if schedule["rrule"] is None:
        yield first
        return
    for at in rrulestr(schedule["rrule"], dtstart=datetime(first.year, first.month, first.day)):
        if at.date() > last:
            return
        yield at.date()


def occurrences(schedule, begin, end):
    lasts = timedelta(minutes=schedule["duration_minutes"])
    left_out = {date.fromisoformat(one) for one in schedule.get("except", [])}
    starts = {start_of(day, schedule) for day in dates_of(schedule, end.date() + 3 * DAY) if day not in left_out}
    return [(start, start + lasts) for start in sorted(starts) if start < end and start + lasts > begin]


def changes(zone, first, last):
    """The moments at which the offset of a zone changes, with the wall time just before and just after."""
    at, end, info = datetime(first, 1, 1, tzinfo=UTC), datetime(last + 1, 1, 1, tzinfo=UTC), ZoneInfo(zone)
    while at < end:
        if at.astimezone(info).utcoffset() != (at + DAY).astimezone(info).utcoffset():
            low, high = at, at + DAY
            while high - low > timedelta(minutes=1):
                middle = low + (high - low) // 2
                middle = middle.replace(second=0, microsecond=0)
                if middle == low:
                    break
                if middle.astimezone(info).utcoffset() == at.astimezone(info).utcoffset():
                    low = middle
                else:
                    high = middle
            before = high + at.astimezone(info).utcoffset()
            yield high, before.replace(tzinfo=None), high.astimezone(info).replace(tzinfo=None)
        at += DAY


def text(at):
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def case(title, schedule, begin, end):
    return {
        "title": title,
        "schedule": schedule,
        "from": text(begin),
        "to": text(end),
        "occurrences": [f"{text(start)}/{text(stop)}" for start, stop in occurrences(schedule, begin, end)],
    }


def schedule_of(rrule, starts_on, start, zone, minutes, left_out=None):
    schedule = {
        "rrule": rrule,
        "starts_on": str(starts_on),
        "start": start,
        "zone": zone,
        "duration_minutes": minutes,
    }
    return schedule if left_out is None else {**schedule, "except": left_out}


def clock_cases():
    for zone, (first, last, most) in CHANGES.items():
        found = list(changes(zone, first, last))
        for moment, before, after in found[-most:]:
            kind = "gap" if after > before else "fold"
            inside = min(before, after) + abs(after - before) / 2
            day = inside.date()
            begin, end = moment - 2 * DAY, moment + 2 * DAY
            at = inside.strftime("%H:%M")
            daily = schedule_of("FREQ=DAILY", day - 10 * DAY, at, zone, 45)
            yield case(f"{zone}: a start in the {kind} of {day}", daily, begin, end)
            across = schedule_of("FREQ=DAILY", "1970-01-01", (min(before, after) - timedelta(minutes=30)).strftime("%H:%M"), zone, 240)
            yield case(f"{zone}: open across the {kind} of {day}", across, begin, end)
            long = schedule_of("FREQ=DAILY;INTERVAL=1", day - 3 * DAY, max(before, after).strftime("%H:%M"), zone, 1440)
            yield case(f"{zone}: elapsed days around the {kind} of {day}", long, begin, end)
            once = schedule_of(None, day, at, zone, 90)
            yield case(f"{zone}: once, in the {kind} of {day}", once, begin, end)


def rule_cases():
    # Steady zones, for the years to come.
    for i, (title, rrule, starts_on, begin, end) in enumerate(RULES):
        zone = STEADY[i % len(STEADY)]
        start = ["00:00", "02:30", "12:00", "18:15", "23:59"][i % 5]
        minutes = [1, 60, 240, 1440, 4320, 10080][i % 6]
        schedule = schedule_of(rrule, starts_on, start, zone, minutes)
        yield case(f"{zone}: {title}", schedule, *(datetime.fromisoformat(one).replace(tzinfo=UTC) for one in (begin, end)))
    weekly = schedule_of("FREQ=WEEKLY;COUNT=5", "2026-09-01", "22:00", "Asia/Kolkata", 480, ["2026-09-08", "2026-09-09"])
    yield case("Asia/Kolkata: a date left out counts for COUNT", weekly, datetime(2026, 9, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    skipped = schedule_of("FREQ=DAILY", "2011-12-01", "12:00", "Pacific/Apia", 60)
    yield case("Pacific/Apia: the day that was skipped starts with the next one", skipped, datetime(2011, 12, 28, tzinfo=UTC), datetime(2012, 1, 2, tzinfo=UTC))


def random_cases(count):
    rng = random.Random(15)
    zones = [*CHANGES, *STEADY]
    for i in range(count):
        starts_on = rng.choice(["1970-01-01", "1999-12-31", "2019-03-15", "2020-02-29", "2021-05-31"])
        begin = datetime(2021, 1, 1, tzinfo=UTC) + timedelta(days=rng.randrange(900), minutes=rng.randrange(1440))
        rrule = random_rule(rng)
        start = f"{rng.randrange(24):02}:{rng.randrange(60):02}"
        schedule = schedule_of(rrule, starts_on, start, rng.choice(zones), rng.choice([1, 30, 600, 3000, 10080]))
        yield case(f"rule {i + 1}: {rrule}", schedule, begin, begin + timedelta(days=rng.choice([2, 20, 90])))


def random_rule(rng):
    def some(values, share):
        return [value for value in values if rng.random() < share]

    freq = rng.choice(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"])
    parts, by_date, chosen = [f"FREQ={freq}"], False, False
    if rng.random() < 0.5:
        parts.append(f"INTERVAL={rng.choice([1, 2, 3, 4, 5, 7, 13])}")
    if rng.random() < 0.3:
        parts.append("BYMONTH=" + ",".join(map(str, some(range(1, 13), 0.6) or [2])))
        chosen = True
    if freq != "WEEKLY" and rng.random() < 0.5:
        parts.append("BYMONTHDAY=" + ",".join(map(str, some([1, 2, 13, 15, 28, 29, 30, 31, -1, -5, -31], 0.5) or [-1])))
        by_date = chosen = True
    if rng.random() < 0.6:
        days = some(WEEKDAYS, 0.5) or ["SU"]
        if freq in ("MONTHLY", "YEARLY") and not by_date and rng.random() < 0.5:
            days = [f"{rng.choice([1, 2, 3, 4, 5, -1, -2])}{day}" for day in days]
        parts.append("BYDAY=" + ",".join(days))
        chosen = True
    if chosen and freq in ("MONTHLY", "YEARLY") and rng.random() < 0.4:
        parts.append("BYSETPOS=" + rng.choice(["1", "-1", "2", "1,-1", "-2", "3"]))
    if rng.random() < 0.4:
        parts.append(f"WKST={rng.choice(WEEKDAYS)}")
    end = rng.random()
    if end < 0.2:
        parts.append("UNTIL=20220630")
    elif end < 0.4:
        parts.append("COUNT=40")
    return ";".join(parts)


def main():
    cases = [*clock_cases(), *rule_cases(), *random_cases(100)]
    file = {
        "about": "Schedules with all occurrences that overlap the time from `from` to just before `to`, as start/end. Made by scripts/window-vectors.py.",
        "cases": cases,
    }
    print(f"{len(cases)} cases, {sum(1 for one in cases if one['occurrences'])} with occurrences", file=sys.stderr)
    json.dump(file, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
