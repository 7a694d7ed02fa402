"""Mutants of Sources/CScheduler/diagnostics: see __init__.py."""

MUTANTS = [
    # observe.c and trace.c
    ("observe: a read of a record does not check its id again", "diagnostics/observe.c", "csched_observer_copy_run_", "csched_load_relaxed(&from->id) == copy->id", "true"),
    ("observe: a late submission is added to tables that were emptied", "diagnostics/observe.c", "", "&& csched_load_relaxed(&begins) == begun", ""),
    ("observe: a submission reads the number of begins after its look", "diagnostics/observe.c", "",
     "uint32_t begun = csched_load_acquire(&begins); submission->is_known = tables != NULL && is_observed_here();",
     "submission->is_known = tables != NULL && is_observed_here();\n  uint32_t begun = csched_load_acquire(&begins);"),
    ("observe: the tables are emptied before the begin is counted", "diagnostics/observe.c", "",
     "csched_fetch_add_release(&begins, 1u); clear_waiting(tables);", "clear_waiting(tables);\n    csched_fetch_add_release(&begins, 1u);"),
    ("observe: the count of entries that are forgotten stays", "diagnostics/observe.c", "",
     "if (part->entries[j].job != NULL) change_waiting_locked(&part->entries[j], -1);", ";"),
    ("observe: an ended run stays recorded", "diagnostics/observe.c", "csched_observer_end_", "if (depth < CSCHED_OBSERVED_DEPTH) csched_store_relaxed(&observer->runs[depth].id, (uint64_t)0);", ";"),
    ("trace: a full ring is overwritten", "diagnostics/trace.c", "TR2", "next - csched_load_acquire(&ring->taken) < EVENTS", "true"),
    ("trace: a lost event is not counted", "diagnostics/trace.c", "ring_with_room", "csched_fetch_add_relaxed(&ring->lost, 1u);", ""),
    ("trace: the writer takes an incomplete event", "diagnostics/trace.c", "TR1", "csched_load_acquire(&slot->stamp) != taken + 1", "csched_load_acquire(&slot->stamp) == 0"),
    ("trace: the writer frees a slot before it has read the event", "diagnostics/trace.c", "TR2",
     "if (consume != NULL) consume(context, &slot->event); csched_store_release(&ring->taken, taken + 1);",
     "csched_store_release(&ring->taken, taken + 1); if (consume != NULL) consume(context, &slot->event);"),
]
