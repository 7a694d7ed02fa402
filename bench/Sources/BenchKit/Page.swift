import Foundation

/// One page with a bar chart for each row; it needs nothing from elsewhere.
public struct Page {
  let report: Report

  public init(_ report: Report) { self.report = report }

  public var text: String {
    let machine = report.machine
    return """
      <!doctype html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <title>Scheduler: benchmark</title>
      <style>\(style)</style>
      <h1>Scheduler: benchmark</h1>
      <p>\(escape(machine.processor)), \(machine.processors) processors · \(escape(machine.system)), Linux \(escape(machine.kernel)) ·
      Swift \(machine.swift) · \(escape(machine.date)) · <code>\(escape(machine.command))</code>,
      \(report.rounds) rounds in each of \(report.runs) process(es)</p>
      <p>Bars are medians, lines from the least to the most of the rounds. Shorter is better, but for speed-ups (×). Everything in a chart was
      measured in turn, in the same run: compare the bars, not the nanoseconds. A difference under 15 % is none.</p>
      <section>
      <h2>The limits of the machine</h2>
      <dl>\(report.rows.filter(\.isLimit).map(limit).joined(separator: "\n"))</dl>
      </section>
      \(report.rows.filter { !$0.isLimit }.map(section).joined(separator: "\n"))
      <p>\(report.notes.map { "Left out: " + escape($0) }.joined(separator: "<br>"))</p>
      </html>
      """
  }

  private func limit(_ row: Report.Row) -> String {
    "<dt><small>\(escape(row.id))</small> \(escape(row.work))</dt><dd>\(row.ours?.median.short ?? "–") \(row.unit)</dd>"
  }

  private func section(_ row: Report.Row) -> String {
    // A bar that is very much longer than ours is cut off, or ours could not be seen.
    let longest = row.contenders.map(\.max).max() ?? 1
    let bound = max(min(longest, max((row.ours?.median ?? longest) * 12, 1e-9)), 1e-9)
    let targets = row.targets.map { target in
      "<li class=\"\(target.verdict?.rawValue ?? "")\">\(target.verdict?.mark ?? "?") \(escape(target.text))</li>"
    }
    let references = row.references.map { "<li>reference: \(escape($0))</li>" }
    return """
      <section>
      <h2><small>\(escape(row.id))</small> \(escape(row.work))</h2>
      \(row.contenders.map { bar($0, unit: row.unit, bound: bound) }.joined(separator: "\n"))
      <ul>\((targets + references).joined())</ul>
      </section>
      """
  }

  private func bar(_ result: Report.Contender, unit: String, bound: Double) -> String {
    func percent(_ value: Double) -> String { String(format: "%.2f%%", max(0, min(1, value / bound)) * 100) }
    return """
      <div class="bar \(result.role)\(result.median > bound ? " cut" : "")"><span>\(escape(result.name))</span>
      <svg role="img" aria-label="\(escape(result.name)): \(result.median.short) \(unit)">
      <rect width="\(percent(result.median))" height="100%" rx="2"/>
      <line x1="\(percent(result.min))" x2="\(percent(result.max))" y1="50%" y2="50%"/></svg>
      <b>\(result.median.short) \(unit), p99 \(result.percentile99.short)</b></div>
      """
  }

  private func escape(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: "\"", with: "&quot;")
  }

  private let style = """
    :root { color-scheme: light dark; --ours: #2563eb; --dispatch: #d97706; --peer: #94a3b8; --limit: #059669; --line: #0f172a;
      --back: #fff; --text: #0f172a; --soft: #64748b; --edge: #e2e8f0 }
    @media (prefers-color-scheme: dark) { :root { --ours: #60a5fa; --dispatch: #fbbf24; --peer: #64748b; --limit: #34d399;
      --line: #f8fafc; --back: #0b1120; --text: #e2e8f0; --soft: #94a3b8; --edge: #1e293b } }
    body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; background: var(--back);
      color: var(--text) }
    section { border-top: 1px solid var(--edge); padding: .8rem 0 }
    h1 { font-size: 1.6rem } h2 { font-size: 1.05rem; margin: .2rem 0 .6rem } h2 small { color: var(--soft); font-weight: 600 }
    p, ul { color: var(--soft) } ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .5rem 0 0 }
    li.met { color: var(--limit) } li.missed { color: #dc2626 }
    .bar { display: grid; grid-template-columns: 14rem 1fr 11rem; gap: .8rem; align-items: center; height: 1.55rem }
    .bar span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap } .bar b { font-weight: 500; font-variant-numeric: tabular-nums }
    .cut svg { mask-image: linear-gradient(to right, #000 80%, transparent) }
    dl { display: grid; grid-template-columns: 1fr auto; gap: .1rem 1rem; margin: 0 } dd { margin: 0; font-variant-numeric: tabular-nums }
    dt small { color: var(--soft); font-weight: 600; display: inline-block; width: 2.6rem }
    svg { width: 100%; height: 1rem } line { stroke: var(--line); stroke-width: 1.5; opacity: .6 }
    .ours rect { fill: var(--ours) } .dispatch rect { fill: var(--dispatch) } .peer rect { fill: var(--peer) } .limit rect { fill: var(--limit) }
    """
}
