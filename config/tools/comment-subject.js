/** A comment that begins with one of these words is a fragment: its reader must search for the subject. */
const fragments = /^(?:So many|Of|What|How|Whether|Whoever|Who|Where|Which|So long)\b/;

/** The text of a comment without its comment marks. */
function textOf({ value }) {
  return value
    .split('\n')
    .map((line) => line.replace(/^\s*\*?\s*/, ''))
    .join(' ')
    .trim();
}

/** An ESLint rule: a comment begins with its subject. Consecutive `//` lines count as one comment. */
export const commentSubject = {
  meta: {
    type: 'suggestion',
    messages: { fragment: 'A comment begins with its subject, not with "{{ word }}".' },
    schema: [],
  },
  create(context) {
    return {
      Program() {
        let before;
        for (const comment of context.sourceCode.getAllComments()) {
          const goesOn =
            before?.type === 'Line' &&
            comment.type === 'Line' &&
            before.loc.end.line + 1 === comment.loc.start.line &&
            before.loc.start.column === comment.loc.start.column;
          before = comment;
          if (goesOn) continue;
          const [word] = fragments.exec(textOf(comment)) ?? [];
          if (word !== undefined)
            context.report({ loc: comment.loc, messageId: 'fragment', data: { word } });
        }
      },
    };
  },
};
