export const digitWords: Record<string, string> = {
  zero: '0', oh: '0', o: '0', one: '1', two: '2', three: '3', four: '4', five: '5', six: '6', seven: '7',
  eight: '8', nine: '9', ten: '10', eleven: '11', twelve: '12', thirteen: '13', fourteen: '14',
  fifteen: '15', sixteen: '16', seventeen: '17', eighteen: '18', nineteen: '19',
}; // prettier-ignore
const tens = ['twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];
export const months = [
  'january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november',
  'december',
]; // prettier-ignore

/** The digits of a text in a row, whether they are written as figures or as words. */
export function digitsIn(text: string): string {
  const words = text.toLowerCase().match(/[a-z]+|\d/g) ?? [];
  let digits = '';
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const ten = tens.indexOf(word);
    if (/\d/.test(word)) digits += word;
    else if (ten >= 0) {
      const next = digitWords[words[at + 1] ?? ''];
      const isOne = next?.length === 1 && next !== '0';
      digits += String(ten + 2) + (isOne ? next : '0');
      if (isOne) at++;
    } else if (word in digitWords) digits += digitWords[word] ?? '';
    else if (months.includes(word)) digits += String(months.indexOf(word) + 1).padStart(2, '0');
  }
  return digits;
}
