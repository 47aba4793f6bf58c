/** A node of a parsed expression, as far as it is read here. */
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

/** The library calls this after each node; its types know names of variables alone. */
const afterEachNode = Symbol.for('jsonata.__evaluate_exit') as unknown as string;

type WatchedExpression = { ast(): unknown; assign(name: string, value: unknown): void };

/** The note about a node that turns out to be nothing; it gets the text of the node. */
type Complaint = (text: string) => string;

/** Notes of one evaluation; an expression in a loop could make as many as it has turns. */
const maxNotes = 20;
/** Functions that are asked whether something is there. */
const asking = new Set(['exists', 'not', 'boolean', 'count', 'type', 'append', 'merge']);

/**
 * Sees where an expression meets nothing and goes on: an object then lacks a field, a text lacks a part, and no error
 * says so. An alternative that was written down as one (`x ? y`) may be nothing.
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

  /** The expression is slower while it is watched. */
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
    // A node that is nothing because a part of it is nothing has been noted by that part.
    const isKnown = nodesBelow(node).some((part) => this.#noted.has(part));
    this.#noted.add(node);
    if (!isKnown) this.lost.push(`${complaint(textOf(node))} (character ${placeOf(node)})`);
  }
}

/** The library first makes a list of nothing of a path that leads nowhere, and leaves it out afterwards. */
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
