/** A node of a parsed expression, with the fields that are used here. */
type AstNode = {
  type?: string;
  value?: unknown;
  position?: number;
  lhs?: unknown;
  rhs?: unknown;
  steps?: AstNode[];
  arguments?: AstNode[];
  procedure?: AstNode;
};

/** The library calls this function after each node; its types do not know that name. */
const afterEachNode = Symbol.for('jsonata.__evaluate_exit') as unknown as string;

type WatchedExpression = { ast(): unknown; assign(name: string, value: unknown): void };

/** Makes the note about a node without a value, from the node's text. */
type Complaint = (text: string) => string;

/** At most this many notes per evaluation: an expression in a loop could make one in each turn. */
const maxNotes = 20;
/** Functions that test whether a value exists. */
const asking = new Set(['exists', 'not', 'boolean', 'count', 'type', 'append', 'merge']);

/**
 * Notes where an expression finds nothing and continues. An object then lacks a field, or a text lacks a part,
 * without an error. A written alternative (`x ? y`) may be nothing.
 */
export class UndefinedWatch {
  readonly lost: string[] = [];
  readonly #expression: WatchedExpression;
  readonly #complaints = new Map<AstNode, Complaint>();
  readonly #noted = new Set<AstNode>();

  constructor(expression: WatchedExpression) {
    this.#expression = expression;
    for (const node of nodesBelow(expression.ast())) this.#watchPartsOf(node);
    const leave = (node: AstNode, _input: unknown, _environment: unknown, result: unknown): void =>
      this.#left(node, result);
    expression.assign(afterEachNode, leave);
  }

  /** A watched expression is slower. */
  [Symbol.dispose](): void {
    this.#expression.assign(afterEachNode, undefined);
  }

  #watchPartsOf(node: AstNode): void {
    if (node.type === 'unary' && node.value === '{' && Array.isArray(node.lhs))
      for (const [key, value] of node.lhs as [AstNode, AstNode][])
        this.#watch(value, (text) => `the field ${textOf(key)} is left out: ${text} has no value`);
    else if (node.type === 'binary' && node.value === '&')
      for (const side of [node.lhs, node.rhs] as AstNode[])
        this.#watch(side, (text) => `a text lacks a part: ${text} has no value`);
    else if (node.type === 'function' && !asking.has(String(node.procedure?.value)))
      for (const argument of node.arguments ?? [])
        this.#watch(argument, (text) => `${textOf(node.procedure)} gets ${text}, which has no value`); // prettier-ignore
  }

  #watch(node: AstNode, complaint: Complaint): void {
    if (node.type !== 'condition') this.#complaints.set(node, complaint);
  }

  #left(node: AstNode, result: unknown): void {
    if (!isNothing(result) || this.lost.length >= maxNotes) return;
    const complaint = this.#complaints.get(node);
    if (complaint === undefined || this.#noted.has(node)) return;
    // If a node is nothing because a part of it is nothing, the note on that part is enough.
    const isKnown = nodesBelow(node).some((part) => this.#noted.has(part));
    this.#noted.add(node);
    if (!isKnown) this.lost.push(`${complaint(textOf(node))} (character ${placeOf(node)})`);
  }
}

/** For a path that leads nowhere, the library first makes an empty list and removes it later. */
function isNothing(result: unknown): boolean {
  if (result === undefined) return true;
  return Array.isArray(result) && result.length === 0 && 'sequence' in result;
}

/** The node and everything in it. */
function nodesBelow(root: unknown): AstNode[] {
  const found = new Set<AstNode>();
  const open = [root];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one !== 'object' || one === null || found.has(one)) continue;
    found.add(one);
    open.push(...(Object.values(one) as unknown[]));
  }
  return [...found];
}

function placeOf(node: AstNode): number {
  return node.position ?? node.steps?.[0]?.position ?? 0;
}

function textOf(node: AstNode | undefined): string {
  if (node === undefined) return 'a function';
  switch (node.type) {
    case 'path':
      return (node.steps ?? []).map(textOf).join('.');
    case 'name':
      return String(node.value);
    case 'string':
      return JSON.stringify(node.value);
    case 'variable':
      return `$${String(node.value)}`;
    case 'function':
      return `${textOf(node.procedure)}(...)`;
    default:
      return 'an expression';
  }
}
