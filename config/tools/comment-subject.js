/** A comment that begins with one of these is a fragment: its reader looks for the subject first. */
const fragments = /^(?:So many|Of|What|How|Whether|Whoever)\b/;

/** The text of a comment without the marks of its kind. */
function textOf({ value }) {
  return value
    .split('\n')
    .map((line) => line.replace(/^\s*\*?\s*/, ''))
    .join(' ')
    .trim();
}

/** ESLint's rule: a comment begins with its subject. Lines of `//` that follow one another are one comment. */
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
