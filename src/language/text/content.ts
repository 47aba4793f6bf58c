/** Words that tell nothing about the topic. */
const stop = new Set(
  "a about actually after again ah all already alright also am an and any anything are aren't as ask at away back be because been before being believe bit but by bye call called calling came can can't cannot come could couldn't day days did didn't do does doesn't doing don't done down each else enough er even ever every everything exactly few find fine first for from gave get gets getting give go goes going gone gonna good goodbye got gotta great guess had has have haven't having he hello help her here here's hey hi him his hm hmm how i i'd i'll i'm i've if in into is isn't it it'll it's its just keep kind know last least left let let's like little long look looking looks lot made make many may maybe me mean might mine minute moment more morning most much must my name need never new next nice no nope not nothing now of off oh ok okay on once one only or other our out over own perfect perhaps please possible probably put quite rather really right said same say says second see send sent set she should show since sir so some something soon sorry speak speaking still sure take taken tell than thank thanks that that's the their them then there there's these they thing things think this those though thought through time times to today told too took try tried trying two um uh uhm under until up us use used using very wait want wanted wants was wasn't way we we'll we're we've welcome well went were what what's when where which while who why will with within won't work works would wouldn't yeah yep yes yesterday yet you you'll you're you've your yours three four five six seven eight nine ten twenty thirty hundred number afternoon evening anyway matter course absolutely definitely certainly lovely appreciate wonderful worries problem customer agent happen happens happened hold holding check happy".split(
    ' ',
  ),
);

/** A word without its commonest endings, so that "refunded" and "refund" count as one topic. */
function stemOf(word: string): string {
  const plain = word.replace(/'s$/, '');
  if (plain.length <= 4) return plain;
  return plain
    .replace(/(?:ies)$/, 'y')
    .replace(/(?:ings?|edly|ed|er|ers|ly|ment|ments|es|s)$/, '')
    .replace(/([^aeiou])\1$/, '$1')
    .replace(/e$/, '');
}

/** The topic words of a text, each as its stem and the word itself. */
export function contentWords(text: string): { stem: string; word: string }[] {
  const words =
    text
      .toLowerCase()
      .replaceAll('’', "'")
      .match(/\p{L}[\p{L}']{2,40}/gu) ?? [];
  return words.filter((word) => !stop.has(word)).map((word) => ({ stem: stemOf(word), word }));
}
