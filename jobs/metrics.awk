# metrics.jsonl to columns: step, loss, validation_loss, tokens_per_second; "-" for what a line does not have.
function number(key,    text) {
  if (!match($0, "\"" key "\"[ ]*:[ ]*-?[0-9][-+.0-9eE]*")) return "-"
  text = substr($0, RSTART, RLENGTH)
  sub(/^[^:]*:[ ]*/, "", text)
  return text
}
/"step"/ { print number("step"), number("loss"), number("validation_loss"), number("tokens_per_second") }
