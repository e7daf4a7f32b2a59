"use strict";
// The figure of the first page: y = f(x) is typed here, and the page's own script shows its J, v, vᵀJ and steps.
const FOLDS = {sum: "add", mean: "add", prod: "mul", norm: "add"}, OTHERS = [...Object.keys(FOLDS), "max", "min", "clamp", "relu", "softmax", "pow", "dot", "stack"];
const FUNCTIONS = {sin: "sin", cos: "cos", tan: "tan", tanh: "tanh", exp: "exp", log: "log", sqrt: "sqrt", abs: "abs", sigmoid: "logistic"};
function compiled(source, x) {
  const entries = x.map(each => ["x", each]), steps = [], tokens = [...source.matchAll(/\*\*|\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|[a-z_]\w*|\S/gi)];
  let at = 0;
  const fail = said => { throw new Error(said); }, add = (...entry) => entries.push(entry) - 1, leaf = {name: "x", moves: true, places: x.map((_, k) => k)};
  const next = (...wanted) => wanted.includes(tokens[at]?.[0]) && tokens[at++][0], shape = ({length}) => length === 1 ? [] : [length];
  const need = wanted => next(wanted) || fail(`“${wanted}” is missing ${at < tokens.length ? `before “${tokens[at][0]}”` : "at the end"}`);
  const number = size => ({name: String(size), moves: false, places: [add("constant", size)]});
  const record = (from, operation, of, make) => {
    const begin = entries.length, places = make().map(each => each < begin ? add("copy", each) : each), to = [...new Set(of)].filter(each => each.moves);
    const made = {name: source.slice(tokens[from].index, tokens[at - 1].index + tokens[at - 1][0].length), places, moves: to.length > 0};
    if (made.moves) steps.unshift({span: [begin, entries.length, places, to.map(each => each.places)], name: made.name, operation, line: null, box: null, arrives: {shape: shape(places), rows: []},
      leaves: to.map(each => ({name: each.name, to: each.name, flow: "", leaf: each === leaf ? 0 : -1, shape: shape(each.places), rows: []}))});
    return made;
  };
  const each = (from, operation, ...of) => record(from, operation, of, () => Array.from({length: Math.max(...of.map(one => one.places.length))}, (_, k) => add(operation,
    ...of.map(({name, places}) => places[places.length === 1 ? 0 : k] ?? fail(`${name} has ${places.length} numbers, the other has more`)))));
  const binary = (lower, signs) => () => { const from = at; let one = lower(), sign; while ((sign = next(...Object.keys(signs)))) one = (sign === "@" ? inner : each)(from, signs[sign], one, lower()); return one; };
  const total = (operation, places) => places.reduce((one, other) => add(operation, one, other));
  const inner = (from, operation, one, other) => record(from, operation, [one, other], () => {
    if (one.places.length !== other.places.length) fail(`${one.name} has ${one.places.length} numbers, ${other.name} has ${other.places.length}`);
    return [total("add", one.places.map((place, k) => add("mul", place, other.places[k])))];
  });
  const folded = (name, places) => {
    const all = total(FOLDS[name], name === "norm" ? places.map(place => add("mul", place, place)) : places);
    return [name === "mean" ? add("div", all, add("constant", places.length)) : name === "norm" ? add("root", all) : all];
  };
  const given = () => {  // the arguments of a call, and by name those that have one
    const found = [];
    while (tokens[at]?.[0] !== ")") {
      const key = tokens[at + 1]?.[0] === "=" && tokens[at][0];
      if (key) at += 2;
      found[key || found.length] = sum();
      if (!next(",")) break;
    }
    need(")");
    return found;
  };
  const constant = ({places: [place]}) => entries[place][0] === "neg" ? -entries[entries[place][1]][1] : entries[place][1];
  const applied = (from, name, [of, power, more], {min, max, exponent, input, p, dim} = {}, numbers = []) => {  // `numbers` of Python's own max(x[0], 0)
    dim ||= (name === "softmax" || (FOLDS[name] && name !== "norm")) && power;
    if (dim && ![0, -1].includes(constant(dim))) fail(`x has one dimension: dim is 0 or -1`);
    of ||= input || fail(`${name} of what? ${name}(x)`); power ||= exponent || p;
    if (name === "norm" && power && entries[power.places[0]][1] !== 2) fail("norm is the 2-norm here: x.norm()");
    return name === "stack" ? of : name === "pow" ? each(from, "pow", of, power || fail("pow is written with the power: x.pow(2)"))
    : name === "dot" ? inner(from, "dot", of, power || fail("dot is written with two vectors: torch.dot(x, x)"))
    : name === "clamp" ? each(from, "clamp", min || power || number(-Infinity), of, max || more || number(Infinity))
    : /^(max|min)$/.test(name) && numbers.length > 1 ? record(from, name, numbers, () => [total(`first_${name}`, numbers.map(one => one.places.length === 1 ? one.places[0] : fail(`Python's ${name} compares single numbers: torch.${name}(x, y)`)))])
    : /^(max|min)$/.test(name) && power ? power.moves || power.places.length > 1 ? each(from, name, of, power) : fail(`${name} has no dim here: x.${name}()`)
    : name === "max" || name === "min" ? record(from, name, [of], () => {  // of several that are equal each has a part of the slope
      const most = total(name, of.places), ties = of.places.map(place => add("eq", place, most)), [zero] = number(0).places;
      return [add("div", total("add", of.places.map((place, k) => add("select_n", ties[k], zero, place))), total("add", ties))];
    })
    : FOLDS[name] ? record(from, name, [of], () => folded(name, of.places)) : name === "relu" ? record(from, name, [of], () => {
    const [zero] = number(0).places;  // a choice, and no max, whose slope at 0 is a half
    return of.places.map(place => add("select_n", add("gt", place, zero), zero, place));
  }) : name === "softmax" ? record(from, name, [of], () => {
    const most = add("stop_gradient", total("max", of.places));  // as torch does: no number overflows
    const powers = of.places.map(place => add("exp", add("sub", place, most))), all = total("add", powers);
    return powers.map(place => add("div", place, all));
  }) : each(from, FUNCTIONS[name], of);
  };
  const unknown = name => fail(`“${name}” is not known here: x, x[0], numbers, + - * / ** @, [a, b], ${[...Object.keys(FUNCTIONS), ...OTHERS].join(", ")} are`);
  const known = name => FUNCTIONS[name] || OTHERS.includes(name);
  function atom(python = true) {  // whether a name that is called is no one's of torch
    const from = at, token = tokens[at]?.[0] ?? fail("something is missing at the end");
    at += 1;
    if (token === "x") return leaf;
    if (/^\.?\d/.test(token)) return number(Number(token));
    if (token === "(") { const inner = sum(); need(")"); return inner; }
    if (token === "[") { const items = [sum()]; while (next(",")) items.push(sum()); need("]"); return record(from, "stack", items, () => items.flatMap(one => one.places)); }
    if (["torch", "jnp", "np"].includes(token) && next(".")) return atom(false);
    if (!/^[a-z_]/i.test(token)) fail(`a number, x or a function is missing before “${token}”`);
    const called = known(token);
    if (called && !next("(")) fail(`${token} is written with parentheses: ${token}(x)`);
    if (called) { const args = given(); return applied(from, token, args, args, python ? args : []); }
    return unknown(token);
  }
  function postfix() {
    const from = at;
    for (let one = atom();;) {
      const inner = one;
      if (next("[")) { const minus = next("-") || "", k = tokens[at++]?.[0]; need("]"); one = record(from, "select", [inner], () => [inner.places[minus ? inner.places.length - k : k] ?? fail(`${inner.name} has no [${minus}${k}]`)]); }
      else if (next(".")) { const name = tokens[at++]?.[0]; if (name === "T") continue; if (!known(name)) unknown(`.${name}`); need("("); const args = given(); one = applied(from, name, [inner, ...args], args); }
      else return one;
    }
  }
  const power = () => { const from = at, one = postfix(); return next("**") ? each(from, "pow", one, signed()) : one; };
  const signed = () => { const from = at; return next("-") ? each(from, "neg", signed()) : power(); };
  const sum = binary(binary(signed, {"*": "mul", "/": "div", "@": "matmul"}), {"+": "add", "-": "sub"});
  let y = sum();
  const rest = tokens[at]?.[0];
  if (rest) fail(rest === "^" ? "a power is written **: x**2" : /^[\w.([]/.test(rest) ? `a sign such as * is missing before “${rest}”` : `“${rest}” cannot stand there`);
  if (!y.moves) fail("x is not in it");
  if (y === leaf) y = record(0, "copy", [y], () => y.places);
  steps[0].name = "y";
  return {label: "", line: null, at: 0, root: "y", steps, inner: [], folds: {}, begins: {}, note: "", ran: y.places.map(() => 1), leaves: [{name: "x", before: null, line: null, set: true}],
    v: labels("y", y.places).map((name, k) => ({name, value: v[k] ?? [1, 10][k] ?? 1})), matrices: [{name: "x", columns: labels("x", x), rows: []}],
    tape: {entries, steps: steps.map(({span}) => span), root: y.places, leaves: [leaf.places]}};
}
function typed() {
  const x = start.value.replace(/[[\]]/g, " ").split(/[\s,]+/).filter(each => each).map(each => each.split("/").map(part => part ? Number(part) : NaN).reduce((one, other) => one / other));
  wrong.textContent = "";
  try {
    if (!x.length || x.length > 8 || x.some(Number.isNaN)) throw new Error("x has 1 to 8 numbers, such as 1, 2");
    const made = compiled(formula.value.replace(/^\s*y\s*=/, ""), x);
    if (made.v.length > 16) throw new Error("y has more than 16 numbers");
    story.walks = [made]; place = last = 0;
    follow(); drawWalk();
  } catch (error) { wrong.textContent = error.message; }
  document.querySelectorAll("section:not(#direction), #sliders").forEach(each => { each.style.opacity = wrong.textContent ? .4 : ""; });  // of the y before
}

const field = (size, value, label) => make("input", {size, value, "aria-label": label, "aria-describedby": "wrong", spellcheck: "false", style: "font: inherit; max-width: 100%"});
const formula = field(26, "3 * x**2", "y as a function of x"), start = field(8, "1, 2", "the numbers of x"), wrong = make("span", {id: "wrong", role: "alert"});
get("direction").insertBefore(make("div", {class: "controls"}, make("label", {}, "y = ", formula), make("label", {}, "x = ", start), wrong), get("sliders"));
for (const each of ["v-head", "jacobian-head"]) get(each).parentElement.hidden = false;
get("walk-head").textContent = "The chain rule, step by step";
start.oninput = typed;
formula.oninput = () => { if (touched) start.value = xs(0).join(", "); typed(); };  // x as it was moved
typed();
if (window.frameElement) new ResizeObserver(() => { window.frameElement.style.height = `${document.body.scrollHeight + 8}px`; }).observe(document.body);
